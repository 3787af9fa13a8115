package fetch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/fetch"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

func TestARequestIsSentAndAnswered(t *testing.T) {
	host := informertest.New(t)
	host.Answer("POST https://chat.example.com/hooks/a?b=c", 201, "done")

	answer, err := fetch.JSON("https://chat.example.com/hooks/a?b=c", map[string]string{"text": "späti"})

	if err != nil || answer.Status != 201 || string(answer.Body) != "done" {
		t.Error(answer, err)
	}
	if got := host.Requests(); !slices.Equal(got, []string{`POST https://chat.example.com/hooks/a?b=c {"text":"späti"}`}) {
		t.Error(got)
	}
}

func TestARequestWithoutAGrantIsDeniedAndTheErrorHasNoPathAndNoPassword(t *testing.T) {
	host := informertest.New(t)

	_, err := fetch.Do(fetch.Request{URL: "http://other.example.com/secret"})

	if !errors.Is(err, informer.HTTPRequestDenied) || !strings.Contains(err.Error(), "GET http://other.example.com: the host denies it") {
		t.Error(err)
	}
	host.Answer("GET http://other.example.com/", 200, "")
	_, err = fetch.Do(fetch.Request{URL: "http://me:secret@other.example.com/"})
	if !errors.Is(err, informer.HTTPRequestDenied) || strings.Contains(err.Error(), "secret") {
		t.Error("a URL with credentials is not sent without them", err)
	}
	for _, malformed := range []string{"", "chat.example.com", "ftp://a/", "https:///a"} {
		if _, err := fetch.Do(fetch.Request{URL: malformed}); !errors.Is(err, informer.Invalid) {
			t.Error(malformed, err)
		}
	}
}

// recorder is a host that keeps the headers of a request.
type recorder struct {
	host.Host
	sent [][2]string
}

func (r *recorder) SendHTTP(request host.HTTPRequest) (host.HTTPAnswer, *host.Error) {
	r.sent = request.Header
	return host.HTTPAnswer{Status: 200}, nil
}

func TestARequestHasTheLengthOfItsBodyOnce(t *testing.T) {
	recorder := &recorder{}
	before := host.Use(recorder)
	t.Cleanup(func() { host.Use(before) })
	request := fetch.Request{URL: "http://a/", Header: map[string]string{"Content-Length": "1"}, Body: []byte("späti")}

	if _, err := fetch.Do(request); err != nil {
		t.Fatal(err)
	}

	if want := [][2]string{{"content-length", "6"}}; !slices.Equal(recorder.sent, want) {
		t.Error(recorder.sent)
	}
}
