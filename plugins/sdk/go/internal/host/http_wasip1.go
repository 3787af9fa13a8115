package host

import (
	handler "github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_http_outgoing_handler"
	http "github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_http_types"
	streams "github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_io_streams"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// The most bytes that a stream takes at once, and those that are read at once.
const (
	piece = 4096
	read  = 65536
)

const nanosPerMilli = 1_000_000

// httpCodes are the words of the interface, by their numbers.
var httpCodes = [...]string{"dns-timeout", "dns-error", "destination-not-found", "destination-unavailable", "destination-ip-prohibited",
	"destination-ip-unroutable", "connection-refused", "connection-terminated", "connection-timeout", "connection-read-timeout",
	"connection-write-timeout", "connection-limit-reached", "tls-protocol-error", "tls-certificate-error", "tls-alert-received",
	"http-request-denied", "http-request-length-required", "http-request-body-size", "http-request-method-invalid",
	"http-request-uri-invalid", "http-request-uri-too-long", "http-request-header-section-size", "http-request-header-size",
	"http-request-trailer-section-size", "http-request-trailer-size", "http-response-incomplete", "http-response-header-section-size",
	"http-response-header-size", "http-response-body-size", "http-response-trailer-section-size", "http-response-trailer-size",
	"http-response-transfer-coding", "http-response-content-coding", "http-response-timeout", "http-upgrade-failed",
	"http-protocol-error", "loop-detected", "configuration-error", "internal-error"}

var methods = map[string]http.Method{
	"GET": http.MakeMethodGet(), "HEAD": http.MakeMethodHead(), "POST": http.MakeMethodPost(), "PUT": http.MakeMethodPut(),
	"DELETE": http.MakeMethodDelete(), "OPTIONS": http.MakeMethodOptions(), "PATCH": http.MakeMethodPatch(),
}

func failed(code http.ErrorCode) *Error {
	return &Error{Kind: word(httpCodes[:], code.Tag()), Message: "there is no answer"}
}

// SendHTTP sends a request in steps: the head, the body, and then the answer.
func SendHTTP(request HTTPRequest) (HTTPAnswer, *Error) {
	var answer HTTPAnswer
	refused := &Error{Kind: "invalid", Message: "the host refuses a part of the request"}
	fields := http.MakeFields()
	for _, field := range request.Header {
		if fields.Append(field[0], []byte(field[1])).IsErr() {
			fields.Drop()
			return answer, refused
		}
	}
	outgoing := http.MakeOutgoingRequest(fields)
	method, known := methods[request.Method]
	if !known {
		method = http.MakeMethodOther(request.Method)
	}
	scheme := http.MakeSchemeHttp()
	if request.HTTPS {
		scheme = http.MakeSchemeHttps()
	}
	if outgoing.SetMethod(method).IsErr() || outgoing.SetScheme(types.Some(scheme)).IsErr() ||
		outgoing.SetAuthority(types.Some(request.Authority)).IsErr() || outgoing.SetPathWithQuery(types.Some(request.Path)).IsErr() {
		outgoing.Drop()
		return answer, refused
	}
	var body *http.OutgoingBody
	if request.Body != nil {
		body = outgoing.Body().Ok()
	}
	sent := handler.Handle(outgoing, patience(request.Millis))
	if sent.IsErr() {
		if body != nil {
			body.Drop()
		}
		return answer, failed(sent.Err())
	}
	if body != nil {
		write(body, request.Body)
	}
	return received(sent.Ok())
}

func patience(millis uint32) types.Option[*http.RequestOptions] {
	if millis == 0 {
		return types.None[*http.RequestOptions]()
	}
	options, nanos := http.MakeRequestOptions(), types.Some(uint64(millis)*nanosPerMilli)
	options.SetConnectTimeout(nanos)
	options.SetFirstByteTimeout(nanos)
	options.SetBetweenBytesTimeout(nanos)
	return types.Some(options)
}

// write sends the body. If that fails, the answer reports it.
func write(body *http.OutgoingBody, bytes []byte) {
	opened := body.Write()
	if opened.IsErr() {
		body.Drop()
		return
	}
	stream := opened.Ok()
	for len(bytes) > 0 {
		next := bytes[:min(piece, len(bytes))]
		if written := stream.BlockingWriteAndFlush(next); written.IsErr() {
			if broken := written.Err(); broken.Tag() == streams.StreamErrorLastOperationFailed {
				broken.LastOperationFailed().Drop()
			}
			stream.Drop()
			body.Drop()
			return
		}
		bytes = bytes[len(next):]
	}
	stream.Drop()
	http.OutgoingBodyFinish(body, types.None[*http.Fields]())
}

func received(future *http.FutureIncomingResponse) (HTTPAnswer, *Error) {
	defer future.Drop()
	ready := future.Subscribe()
	ready.Block()
	ready.Drop()
	got := future.Get()
	if got.IsNone() || got.Some().IsErr() {
		return HTTPAnswer{}, &Error{Kind: "internal", Message: "there is no answer"}
	}
	if got.Some().Ok().IsErr() {
		return HTTPAnswer{}, failed(got.Some().Ok().Err())
	}
	response := got.Some().Ok().Ok()
	defer response.Drop()
	answer := HTTPAnswer{Status: response.Status()}
	fields := response.Headers()
	for _, field := range fields.Entries() {
		answer.Header = append(answer.Header, [2]string{field.F0, string(field.F1)})
	}
	fields.Drop()
	bytes, err := readAll(response)
	answer.Body = bytes
	return answer, err
}

func readAll(response *http.IncomingResponse) ([]byte, *Error) {
	consumed := response.Consume()
	if consumed.IsErr() {
		return nil, nil
	}
	body := consumed.Ok()
	defer body.Drop()
	opened := body.Stream()
	if opened.IsErr() {
		return nil, nil
	}
	stream := opened.Ok()
	defer stream.Drop()
	var bytes []byte
	for {
		next := stream.BlockingRead(read)
		if next.IsOk() {
			bytes = append(bytes, next.Ok()...)
			continue
		}
		ended := next.Err()
		if ended.Tag() == streams.StreamErrorClosed {
			return bytes, nil
		}
		broken := ended.LastOperationFailed()
		defer broken.Drop()
		if code := http.HttpErrorCode(broken); code.IsSome() {
			return nil, failed(code.Some())
		}
		return nil, &Error{Kind: "http-response-incomplete", Message: "the answer breaks off"}
	}
}
