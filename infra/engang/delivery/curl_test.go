package delivery_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"engang/infra/engang/delivery"
	"engang/infra/engang/text"
	"engang/shared/webhook"
)

// The bytes decide about the signature: they arrive as they are, and a terminal that shows the command
// obeys none of them.
func TestCurlSendsTheBytesAsTheyAre(t *testing.T) {
	for _, name := range []string{"curl", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not on this machine: the command that is printed cannot be run", name)
		}
	}
	var body, header string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body, header = string(raw), r.Header.Get("X-Odd")
	}))
	defer server.Close()
	for _, c := range []struct{ name, body, header string }{
		{"plain", `{"a":"it's 100 % ø"}`, "v"},
		{"line ends", "{\n\t\"a\": 1\n}\n\n", "v"},
		{"what a terminal would obey", "{\"a\":\"\x1b[2J it's 100 %d \\\\ \u202egpj\u200d\"}\n", "v"},
		{"bytes that are no text", "\xff\x9b\r\n", "v"},
		{"the name of a file", "@/etc/hostname", "v"},
		{"a header that turns the direction", "{}", "a\u202eb's"},
	} {
		command := delivery.Curl(webhook.Request{Method: "POST", Header: http.Header{"X-Odd": {c.header}}, Body: []byte(c.body)}, server.URL+"/hooks/x?a=b")
		if visible := text.Plain(command); visible != command {
			t.Errorf("%s: a terminal would obey %q", c.name, command)
		}
		if out, err := exec.CommandContext(t.Context(), "bash", "-c", command).CombinedOutput(); err != nil || body != c.body || header != c.header {
			t.Errorf("%s: %q and %q arrived, %s %v", c.name, body, header, out, err)
		}
	}
}
