package local_test

import (
	"net/http"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
)

// A page that is open in a browser of this machine must neither read here nor act here: not under a name
// of its own that leads to this machine, and not from another address.
func TestPagesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	port := s.URL()[strings.LastIndex(s.URL(), ":"):]
	for _, c := range []struct {
		name, host, origin, site string
		status                   int
	}{
		{"a program", "127.0.0.1" + port, "", "", 200},
		{"a program that says localhost", "localhost" + port, "", "", 200},
		{"a program that says it in capitals", "LOCALHOST" + port, "", "", 200},
		{"the other kind of address", "[::1]" + port, "", "", 200},
		{"the other kind of address, without a port", "[::1]", "", "", 200},
		{"no port", "127.0.0.1", "", "", 200},
		{"a page of ours", "127.0.0.1" + port, "http://127.0.0.1" + port, "same-origin", 200},
		{"an address that a person typed", "127.0.0.1" + port, "", "none", 200},
		{"a name that was pointed here", "rebound.example" + port, "", "", 403},
		{"a name that begins like ours", "127.0.0.1.example" + port, "", "", 403},
		{"a page of another site", "127.0.0.1" + port, "https://page.example", "", 403},
		{"a page of another port", "127.0.0.1" + port, "http://127.0.0.1:1", "", 403},
		{"a page without an address", "127.0.0.1" + port, "null", "", 403},
		{"an image on a page of another site", "127.0.0.1" + port, "", "cross-site", 403},
		{"an image on a page of another port", "127.0.0.1" + port, "", "same-site", 403},
	} {
		for path, body := range map[string]string{"/api/events": "", "/%61pi/version": "", "/local/faults": "", "/local/aws": ""} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.status {
				t.Errorf("%s, %s: %d, want %d", c.name, path, answer.StatusCode, c.status)
			}
			if problem := answer.Header.Get("Content-Type") == "application/problem+json"; problem != (c.status == 403) {
				t.Errorf("%s, %s: %s", c.name, path, answer.Header.Get("Content-Type"))
			}
		}
	}
}

// Senders come through tunnels, under names of theirs.
func TestDeliveriesComeUnderAnyName(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/hooks/woo-shop", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "tunnel.example"
	r.Header.Set("Origin", "https://shop.example")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized { // its signature is what is looked at
		t.Errorf("%d", answer.StatusCode)
	}
}
