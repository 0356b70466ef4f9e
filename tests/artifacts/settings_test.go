package artifacts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"engang/infra/local/bootstrap"
)

// A process that is told nothing, or nonsense, ends at once, and says all that is wrong in one go.
func TestABuiltFunctionSaysAllFaultsOfItsSettingsAndEnds(t *testing.T) {
	folder := built(t)
	for _, c := range []struct {
		function string
		env      []string
		faults   []string
	}{
		{"receiver", nil, []string{"TABLE_NAME is not set", "WORK_QUEUE_URL is not set", "BODIES_BUCKET is not set", "SECRET_PATH is not set",
			"AWS_REGION is not set", "AWS_ACCESS_KEY_ID is not set", "AWS_SECRET_ACCESS_KEY is not set"}},
		{"receiver", []string{"TABLE_NAME=engang", "BODIES_BUCKET=b", "SECRET_PATH=", "WORK_QUEUE_URL=work", "MAX_BODY_BYTES=4194305", "OPEN_AGE_SECONDS=soon", "LOG_LEVEL=LOUD"},
			[]string{"SECRET_PATH is not set", "WORK_QUEUE_URL is not an http or https address", "MAX_BODY_BYTES is not a whole number", "OPEN_AGE_SECONDS is not a whole number", "LOG_LEVEL is not a log level"}},
		{"enrichment", []string{"LEASE_SECONDS=80", "ATTEMPT_LIMIT=0"}, []string{"TABLE_NAME is not set", "WORK_QUEUE_URL is not set", "WORK_DEAD_LETTER_QUEUE_URL is not set",
			"BODIES_BUCKET is not set", "SECRET_PATH is not set", "MODEL_BASE_URL is not set", "ATTEMPT_LIMIT is not a whole number", "must be below LEASE_SECONDS"}},
		{"reconciler", []string{"SEND_LIMIT=101", "BACKLOG_LIMIT=-1"}, []string{"TABLE_NAME is not set", "WORK_QUEUE_URL is not set", "WORK_DEAD_LETTER_QUEUE_URL is not set",
			"BODIES_BUCKET is not set", "SECRET_PATH is not set", "SEND_LIMIT is not a whole number", "BACKLOG_LIMIT is not a whole number"}},
		{"console", []string{"WORK_QUEUE_URL=://"}, []string{"TABLE_NAME is not set", "BODIES_BUCKET is not set", "WORK_QUEUE_URL is not an http or https address", "WORK_DEAD_LETTER_QUEUE_URL is not set"}},
	} {
		t.Run(fmt.Sprint(c.function, " ", len(c.env)), func(t *testing.T) {
			path, err := bootstrap.Find(folder, resource(c.function))
			if err != nil {
				t.Fatal(err)
			}
			p := bootstrap.Program{Name: c.function, Path: path, Env: func(string) []string {
				if c.env == nil {
					return nil
				}
				return append([]string{"AWS_REGION=eu-north-1", "AWS_ACCESS_KEY_ID=ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret"}, c.env...)
			}}
			e, err := p.Start(t.Context())
			fault, ok := errors.AsType[*bootstrap.StartError](err)
			if !ok || !errors.Is(err, bootstrap.ErrEnded) || e.Alive() {
				t.Fatalf("it began: %v", err)
			}
			if !strings.Contains(err.Error(), "status 1") || strings.Count(fault.Said, "setting ")+strings.Count(fault.Said, "must be below") != len(c.faults) {
				t.Errorf("want %d faults: %v", len(c.faults), err)
			}
			for _, text := range c.faults {
				if !strings.Contains(fault.Said, text) {
					t.Errorf("%q is not in %s", text, fault.Said)
				}
			}
		})
	}
}
