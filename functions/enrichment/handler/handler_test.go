package handler

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// A script answers for the use case and notes what it was asked, and what was hidden for how long.
type script struct {
	mu      sync.Mutex
	answer  map[inbox.EventID]func(ctx context.Context) error
	ran     []inbox.EventID
	redrove []inbox.Notice
	hidden  map[string]time.Duration
}

func (s *script) Run(ctx context.Context, id inbox.EventID) error {
	s.mu.Lock()
	s.ran = append(s.ran, id)
	answer := s.answer[id]
	s.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(ctx)
}

func (s *script) Redriven(_ context.Context, n inbox.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redrove = append(s.redrove, n)
	return nil
}

func (s *script) Hide(_ context.Context, receipt string, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden == nil {
		s.hidden = map[string]time.Duration{}
	}
	s.hidden[receipt] = d
	return nil
}

func (s *script) handler(log io.Writer) *Handler {
	return &Handler{runner: s, queue: s, retry: time.Second, log: slog.New(slog.NewJSONHandler(log, nil))}
}

func message(id, body string) events.SQSMessage {
	return events.SQSMessage{MessageId: id, ReceiptHandle: "r-" + id, Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "2"}}
}

func failed(r events.SQSEventResponse) []string {
	ids := []string{}
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

const a, b, c = `{"event":"evt_aaaaaaaaaaaaaaaa"}`, `{"event":"evt_bbbbbbbbbbbbbbbb"}`, `{"event":"evt_cccccccccccccccc"}`

func TestAMessagesFailureIsItsOwn(t *testing.T) {
	s := &script{answer: map[inbox.EventID]func(context.Context) error{
		"evt_aaaaaaaaaaaaaaaa": func(context.Context) error { return &enrich.Later{After: 42 * time.Second, Why: "busy"} },
		"evt_bbbbbbbbbbbbbbbb": func(context.Context) error { panic("payload that must not be logged") },
	}}
	var log strings.Builder
	got, err := s.handler(&log).Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		message("1", a), message("2", b), message("3", c), message("4", `{"other":"tool"}`),
	}})
	if err != nil || !slices.Equal(failed(got), []string{"1", "2", "4"}) {
		t.Errorf("failures %v, %v", failed(got), err)
	}
	if s.hidden["r-1"] != 42*time.Second || s.hidden["r-2"] > 4*time.Second || len(s.hidden) != 3 {
		t.Errorf("hidden %v", s.hidden)
	}
	if strings.Contains(log.String(), "must not be logged") || strings.Contains(log.String(), "other") {
		t.Errorf("the log holds content:\n%s", log.String())
	}
}

// Five waiting model calls must not take five times as long: each message waits for all to have begun.
// A person who looks for an event, or for an invocation, finds every line of it.
func TestEachLineSaysWhatItIsAbout(t *testing.T) {
	var b strings.Builder
	s := &script{answer: map[inbox.EventID]func(context.Context) error{"evt_aaaaaaaaaaaaaaab": func(context.Context) error { return errors.New("store down") }}}
	h := s.handler(io.Discard)
	h.log = telemetry.NewLogger(&b, telemetry.Process{Function: "enrichment"})
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "req-1"})
	records := []events.SQSMessage{
		{MessageId: "m1", Body: `{"event":"evt_aaaaaaaaaaaaaaaa"}`},
		{MessageId: "m2", Body: `{"event":"evt_aaaaaaaaaaaaaaab"}`},
		{MessageId: "m3", Body: `{"notice":{"event":"evt_aaaaaaaaaaaaaaac","reason":"r","category":"c","tenant":"shop","environment":"test"}}`},
		{MessageId: "m4", Body: `another's`},
	}
	if _, err := h.Handle(ctx, events.SQSEvent{Records: records}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(b.String()) {
		var said struct {
			Msg       string `json:"msg"`
			RequestID string `json:"request_id"`
			MessageID string `json:"message_id"`
			EventID   string `json:"event_id"`
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil || said.RequestID != "req-1" {
			t.Errorf("%s: %v", line, err)
		}
		got[said.MessageID] = said.Msg + ", " + said.EventID
	}
	want := map[string]string{"m1": "message done, evt_aaaaaaaaaaaaaaaa", "m2": "message comes again, evt_aaaaaaaaaaaaaaab", "m3": "message done, evt_aaaaaaaaaaaaaaac", "m4": "message comes again, "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABatchIsWorkedOnSideBySide(t *testing.T) {
	var begun sync.WaitGroup
	begun.Add(3)
	together := func(context.Context) error { begun.Done(); begun.Wait(); return nil }
	s := &script{answer: map[inbox.EventID]func(context.Context) error{
		"evt_aaaaaaaaaaaaaaaa": together, "evt_bbbbbbbbbbbbbbbb": together, "evt_cccccccccccccccc": together,
	}}
	got, err := s.handler(io.Discard).Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("1", a), message("2", b), message("3", c)}})
	if err != nil || len(got.BatchItemFailures) != 0 {
		t.Errorf("failures %v, %v", failed(got), err)
	}
}

func TestANoticeIsARedrive(t *testing.T) {
	s := &script{}
	body := `{"notice":{"event":"evt_aaaaaaaaaaaaaaaa","operation":"product:7/card@1/ff","reason":"r","category":"transient","generation":1,"tenant":"shop","environment":"test"}}`
	got, err := s.handler(io.Discard).Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("1", body)}})
	if err != nil || len(got.BatchItemFailures) != 0 || len(s.redrove) != 1 || s.redrove[0].Operation != "product:7/card@1/ff" || len(s.ran) != 0 {
		t.Errorf("failures %v, %v; redrove %+v, ran %v", failed(got), err, s.redrove, s.ran)
	}
}

func TestTheSamplesAreWhatTheQueueDelivers(t *testing.T) {
	files, err := filepath.Glob("../../../events/enrichment/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var e events.SQSEvent
			if err := json.Unmarshal(raw, &e); err != nil || len(e.Records) == 0 {
				t.Fatalf("no SQS event: %v", err)
			}
			s := &script{}
			if _, err := s.handler(io.Discard).Handle(t.Context(), e); err != nil {
				t.Error(err)
			}
			if len(s.ran)+len(s.redrove) == 0 {
				t.Error("no message of it is ours")
			}
		})
	}
}

func TestSettingsReportEveryFaultAtOnce(t *testing.T) {
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "BODIES_BUCKET", "SECRET_PATH", "MODEL_BASE_URL"} {
		t.Setenv(name, "")
	}
	t.Setenv("LEASE_SECONDS", "80")
	t.Setenv("ATTEMPT_LIMIT", "none")
	_, err := SettingsFromEnv()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "BODIES_BUCKET", "SECRET_PATH", "MODEL_BASE_URL", "LEASE_SECONDS", "ATTEMPT_LIMIT"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
}

func TestSettingsWithOnlyWhatHasNoDefault(t *testing.T) {
	for name, value := range map[string]string{
		"TABLE_NAME": "engang", "WORK_QUEUE_URL": "https://sqs.example.com/q", "WORK_DEAD_LETTER_QUEUE_URL": "https://sqs.example.com/d",
		"BODIES_BUCKET": "b", "SECRET_PATH": "/engang/stack", "MODEL_BASE_URL": "https://api.openai.com/v1",
	} {
		t.Setenv(name, value)
	}
	s, err := SettingsFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if l := s.Limits; l.Call+l.Finish >= l.Lease || l.Attempts != 5 || l.Hide != time.Minute || l.BackoffBase == 0 || s.Retry == 0 {
		t.Errorf("limits %+v, retry %s", l, s.Retry)
	}
}

func TestAFailureOfOursWaitsLongerEachTime(t *testing.T) {
	h := (&script{}).handler(io.Discard)
	for receives, most := range map[string]time.Duration{"1": 2 * time.Second, "5": 32 * time.Second, "100": 64 * time.Second, "": time.Second} {
		m := events.SQSMessage{Attributes: map[string]string{"ApproximateReceiveCount": receives}}
		for range 50 {
			if got := h.wait(m, errors.New("store down")); got < 0 || got > most {
				t.Errorf("receive %s waits %s, at most %s", receives, got, most)
			}
		}
	}
}
