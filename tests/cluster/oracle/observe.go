package main

import (
	"net/http"
	"strings"

	"k8s.io/client-go/transport"
)

// observe prints the requests of the reflectors, because the handler calls do not show which of them come from a list.
func observe(out *lines) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return observer{next: next, out: out}
	}
}

type observer struct {
	next http.RoundTripper
	out  *lines
}

func (o observer) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	verb := "list"
	switch {
	case query.Get("sendInitialEvents") == "true":
		verb = "watch-list"
	case query.Get("watch") == "true":
		verb = "watch"
	}
	// Later pages belong to the same list.
	if query.Get("continue") == "" {
		out := requested{Request: verb, Gvr: collection(request.URL.Path)}
		o.out.print(out)
	}
	return o.next.RoundTrip(request)
}

// collection returns the resource of a path such as /api/v1/namespaces/shop/pods or /apis/apps/v1/deployments.
func collection(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := parts[1]
	if parts[0] == "apis" && len(parts) > 2 {
		group += "/" + parts[2]
	}
	return group + "/" + parts[len(parts)-1]
}
