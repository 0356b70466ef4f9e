package telemetry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"engang/shared/telemetry"
)

func TestABugIsFoundByItsReferenceAndShowsNoContent(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		kind  string
	}{
		"a text":         {"hush", "string"},
		"an error":       {errors.New("hush"), "*errors.errorString"},
		"a body":         {[]byte("hush"), "[]uint8"},
		"of the runtime": {nil, "runtime.boundsError"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			log := telemetry.NewLogger(&b, telemetry.Process{})
			work := func() (err error) {
				defer telemetry.Recover(t.Context(), log, &err, slog.String("request_id", "request-1"))
				if tc.value == nil {
					return []error{}[len(name)]
				}
				panic(tc.value)
			}
			if err := work(); err == nil || err.Error() != "bug, see request_id request-1 in the log" {
				t.Errorf("got %v", err)
			}
			got := line(t, &b)
			if stack, ok := got["stack"].(string); !ok || !strings.Contains(stack, "bug_test.go") || strings.Contains(stack, "hush") {
				t.Errorf("stack %s", stack)
			}
			delete(got, "stack")
			if got["msg"] != "bug" || got["level"] != "ERROR" || got["request_id"] != "request-1" || got["kind"] != tc.kind {
				t.Errorf("line %v", got)
			}
		})
	}
}

func TestWhereNothingPanicsNothingIsWritten(t *testing.T) {
	var b bytes.Buffer
	log, fault := telemetry.NewLogger(&b, telemetry.Process{}), errors.New("throttled")
	for _, want := range []error{nil, fault} {
		work := func() (err error) {
			defer telemetry.Recover(t.Context(), log, &err, slog.String("request_id", "request-1"))
			return want
		}
		if err := work(); !errors.Is(err, want) || b.Len() > 0 {
			t.Errorf("got %v, %s", err, &b)
		}
	}
}
