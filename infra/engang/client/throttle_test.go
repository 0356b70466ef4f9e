package client_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"engang/infra/engang/client"
)

// The gateway's throttle is one for senders and operators: a look waits for its turn.
func TestALookThatIsThrottledIsMadeAgain(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"message":"Too Many Requests"}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind":"event","id":"evt_aaaaaaaaaaaaaaaa","state":"settled"}`))
	}))
	defer server.Close()
	c := &client.Client{API: server.URL, HTTP: server.Client(), Timeout: time.Minute}
	if _, err := c.Show(t.Context(), client.Filter{"id": "evt_aaaaaaaaaaaaaaaa"}); err != nil || asked.Load() != 3 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}
