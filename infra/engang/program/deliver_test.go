package program_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engang/infra/engang/program"
)

func TestHowManyAreSentIsBounded(t *testing.T) {
	for _, args := range [][]string{{"--repeat", "999999999999"}, {"--repeat", "0"}, {"--parallel", "1001", "--repeat", "2000"}, {"--parallel", "0"}} {
		if code, stdout, stderr := run(t, t.Context(), append([]string{"send", "--curl"}, args...)...); code != 2 || stdout != "" || !strings.Contains(stderr, "--repeat is from 1 to 1000000, --parallel from 1 to 1000") {
			t.Errorf("%v: exit %d %s%s", args, code, stdout, stderr)
		}
	}
}

// hooks answers deliveries itself.
type hooks func(r *http.Request) *http.Response

func (h hooks) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, "/hooks/") {
		return http.DefaultTransport.RoundTrip(r)
	}
	return h(r), nil
}

func answered(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// What was not sent is no delivery without an answer, and what was begun is waited for.
func TestSendingThatIsInterruptedCountsWhatWasSent(t *testing.T) {
	api := serveCanned(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	code, stdout, stderr := runIn(ctx, func(e *program.Env) {
		e.Args = []string{"send", "--repeat", "500000", "--target", api.url}
		e.HTTP.Transport = hooks(func(r *http.Request) *http.Response {
			if n++; n == 3 {
				cancel()
			}
			if r.Context().Err() != nil {
				t.Error("the delivery in hand was given up")
			}
			return answered(http.StatusOK, `{"status":"duplicate","event":"evt_aaaaaaaaaaaaaaaa"}`)
		})
	})
	if code != 1 || !strings.HasPrefix(stdout, "3 deliveries to woo-shop in ") || strings.Contains(stdout, "no answer") || !strings.Contains(stderr, "interrupted: 3 of 500000 were sent") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

func TestARefusedDeliverySaysWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte(`{"id":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		body   string
		says   string
	}{
		{"too many", []string{"send"}, 429, `{"message":"Too Many Requests"}`, "1 delivery of 1 refused: 429 too many requests: more came than is let in within a moment; wait some seconds and give the command again, or send fewer at once\n"},
		{"no type", []string{"send", file, "--endpoint", "woo-shop"}, 400, `{"title":"Malformed"}`, "400 malformed: the file does not say what type of event it is; say it with --type\n"},
		{"a type, and something else", []string{"send", file, "--endpoint", "woo-shop", "--type", "product.updated"}, 400, `{"title":"Malformed"}`, "400 malformed\n"},
		{"a case, which says its type", []string{"send"}, 400, `{"title":"Malformed"}`, "400 malformed\n"},
	} {
		api := serveCanned(t)
		code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
			e.Args = append(c.args, "--target", api.url)
			e.HTTP.Transport = hooks(func(*http.Request) *http.Response { return answered(c.status, c.body) })
		})
		if code != 1 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
	}
}
