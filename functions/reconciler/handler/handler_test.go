package handler

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/shared/reconcile"
)

type script struct {
	report reconcile.Report
	err    error
	sweeps int
}

func (s *script) Sweep(context.Context) (reconcile.Report, error) {
	s.sweeps++
	return s.report, s.err
}

func TestEachScheduleEventIsOneSweep(t *testing.T) {
	files, err := filepath.Glob("../../../events/reconciler/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e events.EventBridgeEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		s := &script{report: reconcile.Report{Due: 3, Sent: 2, Oldest: time.Minute}}
		h := &Handler{sweeper: s, log: slog.New(slog.NewJSONHandler(&log, nil))}
		if err := h.Handle(t.Context(), e); err != nil || s.sweeps != 1 {
			t.Errorf("%s: %v after %d sweeps", file, err, s.sweeps)
		}
		if !strings.Contains(log.String(), `"due":3,"sent":2`) {
			t.Errorf("log %s", log.String())
		}
	}
}

func TestAnIncompleteSweepFailsTheInvocation(t *testing.T) {
	s := &script{err: errors.New("store down")}
	h := &Handler{sweeper: s, log: slog.New(slog.DiscardHandler)}
	if err := h.Handle(t.Context(), events.EventBridgeEvent{}); !errors.Is(err, s.err) {
		t.Errorf("got %v: the error alarm would not ring", err)
	}
}

func TestSettingsReportEveryFaultAtOnce(t *testing.T) {
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL"} {
		t.Setenv(name, "")
	}
	t.Setenv("SEND_LIMIT", "0")
	_, err := SettingsFromEnv()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "SEND_LIMIT"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
}
