package program_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"engang/shared/control"
)

// Whoever hears nothing of an act does not know whether it was done; of a look there is nothing to know.
func TestAnActWithoutAnAnswerIsUnknown(t *testing.T) {
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer slow.Close()
	defer close(stop)
	for _, c := range []struct {
		args    []string
		unknown bool
	}{
		{[]string{"pause", "everything", "--reason", "why"}, true},
		{[]string{"approve", "o", "--digest", "d", "--reason", "why"}, true},
		{[]string{"pause"}, false},
		{[]string{"events"}, false},
	} {
		code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", slow.URL, "--timeout", "50ms")...)
		if code != 6 || stdout != "" || !strings.Contains(stderr, "no answer in time") || strings.Contains(stderr, "whether it was done is unknown") != c.unknown {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
}

func TestAListThatIsEmptyForItsFiltersSaysSo(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"operations", "--recipe", "nope"}, "no operations like that since "},
		{[]string{"operations"}, "no operations since "},
		{[]string{"events", "--duplicates"}, "no events like that since "},
	} {
		api := serveCanned(t)
		api.answer["/api/operations"], api.answer["/api/events"] = control.List[control.Operation]{}, control.List[control.Event]{}
		if code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", api.url)...); code != 0 || !strings.HasPrefix(stdout, c.says) {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
}
