package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
)

// A gateway says no more than "Internal Server Error" for a function that ran out of time.
func TestTheGatewaysOwnAnswersSayWhatToDo(t *testing.T) {
	for status, want := range map[int]string{500: "ran out of time", 503: "look before asking again", 504: "ran out of time", 403: "Forbidden"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"message":"` + http.StatusText(status) + `"}`))
		}))
		c := &client.Client{API: srv.URL, HTTP: srv.Client(), Timeout: time.Minute}
		_, err := c.Version(t.Context())
		srv.Close()
		p, ok := errors.AsType[*client.Problem](err)
		if !ok || p.Type != client.FromGateway || p.Status != status || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
	}
}
