package telemetry_test

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// BenchmarkLine writes a line as functions write them: texts and numbers, a named text, and an error.
func BenchmarkLine(b *testing.B) {
	err := errors.New("throttled")
	for _, c := range []struct {
		name  string
		attrs []slog.Attr
	}{
		{"texts", []slog.Attr{slog.String("event_id", "evt_abcdefghijklmnop"), slog.Int("status", 200), slog.String("outcome", "accepted"), slog.Int64("ms", 3)}},
		{"named", []slog.Attr{slog.Any("event", inbox.EventID("evt_abcdefghijklmnop")), slog.Int("status", 503), slog.Any("err", err)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			log := telemetry.NewLogger(io.Discard, telemetry.Process{Function: "receiver", Deployed: "fn"})
			b.ReportAllocs()
			for b.Loop() {
				log.LogAttrs(b.Context(), slog.LevelInfo, "delivery", c.attrs...)
			}
		})
	}
}
