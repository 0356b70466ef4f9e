package telemetry

import (
	"io"
	"log/slog"
)

// Process says which function writes.
type Process struct {
	Function string     // "receiver": the field function of every line
	Deployed string     // the name that Lambda knows it by, a dimension of its metrics; empty outside of Lambda
	Level    slog.Level // lines below it are dropped, metric lines never
}

// metricLevel is above every level, so that LOG_LEVEL never silences a metric and the alarms on it.
const metricLevel = slog.Level(64)

// NewLogger returns the logger of a function: one JSON object a line, with the fields timestamp and
// level that Lambda's own log format uses, and what the context is about ([About]). Byte slices, raw JSON and headers are never written out, whoever passes them
// and in whatever they stand. Text is: of an error, of a type that says itself how it is written, and what is passed as
// text is the caller's promise.
func NewLogger(w io.Writer, p Process) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: p.Level, ReplaceAttr: redact})
	log := slog.New(abouter{h}).With("function", p.Function)
	if p.Deployed != "" {
		log = log.With(deployed, p.Deployed)
	}
	return log
}
