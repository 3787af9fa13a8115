// Package fetch sends HTTP requests to the places that `http` under [plugin.grant] names. A component that uses it needs that grant.
//
//	answer, err := fetch.Do(fetch.Request{Method: "POST", URL: "https://chat.example.com/hooks/platform", Body: text})
//
// The host follows no redirect, and sends no request to the API server. [net/http] opens sockets, which a plugin does not have.
package fetch

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// A Request is an HTTP request.
type Request struct {
	// Method is GET if it is empty.
	Method string
	// URL begins with http:// or https://.
	URL string
	// Header has the values of headers by their names. If there is a body, the SDK adds its length as content-length, and ignores a
	// content-length that is here.
	Header map[string]string
	// Body is the body of the request. Nil means that there is none.
	Body []byte
	// Timeout is for the connection, the head of the answer, and each piece of its body. Zero means until the deadline of the call.
	Timeout time.Duration
}

// An Answer is the answer of the server. Each status is an answer, also 404 or 500.
type Answer struct {
	Status int
	// Header has the values of headers by their names, which are in lower case. Values of one name are joined by commas.
	Header map[string]string
	Body   []byte
}

// Do sends a request and waits for the answer.
//
// It fails with [informer.HTTPRequestDenied] if the host denies the request, with [informer.Invalid] if the URL or a header is
// malformed, and with the code of wasi:http as the kind, like "connection-refused", if there is no answer.
func Do(request Request) (Answer, error) {
	method := request.Method
	if method == "" {
		method = "GET"
	}
	address, err := url.Parse(request.URL)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return Answer{}, &informer.Error{Kind: informer.Invalid, Message: "the URL does not begin with http:// or https:// and a host"}
	}
	authority := address.Host
	if address.User != nil {
		// The host denies a URL with credentials. It must not send the request without them.
		authority = address.User.String() + "@" + authority
	}
	sent := host.HTTPRequest{
		Method:    method,
		HTTPS:     address.Scheme == "https",
		Authority: authority,
		Path:      address.RequestURI(),
		Body:      request.Body,
		Millis:    failure.Millis(request.Timeout),
	}
	for name, value := range request.Header {
		// Servers refuse a request with two headers of this name, and the length of the body is added below.
		if name = strings.ToLower(name); request.Body == nil || name != "content-length" {
			sent.Header = append(sent.Header, [2]string{name, value})
		}
	}
	if request.Body != nil {
		sent.Header = append(sent.Header, [2]string{"content-length", fmt.Sprint(len(request.Body))})
	}
	received, refused := host.SendHTTP(sent)
	if refused != nil {
		// The path of a webhook is often a secret, and so is a password before the host, so no error contains them.
		message := fmt.Sprintf("%s %s://%s: %s", method, address.Scheme, address.Host, reason(informer.Kind(refused.Kind)))
		return Answer{}, &informer.Error{Kind: informer.Kind(refused.Kind), Message: message}
	}
	answer := Answer{Status: int(received.Status), Header: map[string]string{}, Body: received.Body}
	for _, field := range received.Header {
		if before, found := answer.Header[field[0]]; found {
			field[1] = before + ", " + field[1]
		}
		answer.Header[field[0]] = field[1]
	}
	return answer, nil
}

// JSON sends a value as JSON in a POST request.
func JSON(url string, value any) (Answer, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Answer{}, fmt.Errorf("the body of a request: %w", err)
	}
	return Do(Request{Method: "POST", URL: url, Header: map[string]string{"content-type": "application/json"}, Body: body})
}

func reason(kind informer.Kind) string {
	switch kind {
	case informer.HTTPRequestDenied:
		return "the host denies it; `http` under [plugin.grant] names the places, and the log has the reason"
	case informer.Invalid:
		return "the host refuses a part of the request"
	default:
		return "there is no answer"
	}
}
