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

	"engang/shared/catchup"
	"engang/shared/reconcile"
)

type script struct {
	report reconcile.Report
	err    error
	sweeps int
	found  catchup.Report
	missed error
	runs   int
}

func (s *script) Sweep(context.Context) (reconcile.Report, error) {
	s.sweeps++
	return s.report, s.err
}

func (s *script) Run(context.Context) (catchup.Report, error) {
	s.runs++
	return s.found, s.missed
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
		s := &script{report: reconcile.Report{Due: 3, Sent: 2, Oldest: time.Minute}, found: catchup.Report{Pages: 1, Objects: 9, New: 4, Failed: []string{"woo-shop"}}}
		h := &Handler{sweeper: s, sources: s, log: slog.New(slog.NewJSONHandler(&log, nil))}
		if err := h.Handle(t.Context(), e); err != nil || s.sweeps != 1 || s.runs != 1 {
			t.Errorf("%s: %v after %d sweeps and %d looks after the sources", file, err, s.sweeps, s.runs)
		}
		if !strings.Contains(log.String(), `"due":3,"sent":2`) || !strings.Contains(log.String(), `"objects":9,"new":4,"failed":["woo-shop"]`) {
			t.Errorf("log %s", log.String())
		}
	}
}

func TestAnIncompleteSweepFailsTheInvocation(t *testing.T) {
	for _, s := range []*script{{err: errDown}, {missed: errDown}} {
		var log strings.Builder
		h := &Handler{sweeper: s, sources: s, log: slog.New(slog.NewJSONHandler(&log, nil))}
		// The runtime writes what it is told beside our lines: it is short, and they say what it was.
		if err := h.Handle(t.Context(), events.EventBridgeEvent{}); err == nil || len(err.Error()) > 40 || !strings.Contains(log.String(), "store down") {
			t.Errorf("got %v, log %s: the error alarm would not ring, or nobody would know why", err, &log)
		}
		if s.sweeps != 1 || s.runs != 1 {
			t.Errorf("%d sweeps, %d looks after the sources: one kept the other from its work", s.sweeps, s.runs)
		}
	}
}

// broken panics with content, in one of its two tasks.
type broken struct {
	script
	sweep bool
}

func (b *broken) Sweep(ctx context.Context) (reconcile.Report, error) {
	if b.sweep {
		panic("hush")
	}
	return b.script.Sweep(ctx)
}

func (b *broken) Run(ctx context.Context) (catchup.Report, error) {
	if !b.sweep {
		panic("hush")
	}
	return b.script.Run(ctx)
}

func TestABugInOneTaskKeepsTheOtherFromNothing(t *testing.T) {
	for _, sweep := range []bool{true, false} {
		var log strings.Builder
		b := &broken{sweep: sweep}
		h := &Handler{sweeper: b, sources: b, log: slog.New(slog.NewJSONHandler(&log, nil))}
		err := h.Handle(t.Context(), events.EventBridgeEvent{ID: "schedule-1"})
		if err == nil || b.sweeps+b.runs != 1 {
			t.Errorf("%v after %d sweeps and %d looks after the sources", err, b.sweeps, b.runs)
		}
		if !strings.Contains(log.String(), `"msg":"bug","schedule_event":"schedule-1","kind":"string"`) || strings.Contains(log.String(), "hush") || sweep && strings.Contains(log.String(), "Heartbeat") {
			t.Errorf("log %s", &log)
		}
	}
}

var errDown = errors.New("store down")

func TestSettingsReportEveryFaultAtOnce(t *testing.T) {
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "BODIES_BUCKET", "SECRET_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("SEND_LIMIT", "0")
	_, err := SettingsFromEnv()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "BODIES_BUCKET", "SECRET_PATH", "SEND_LIMIT"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
}
