package telemetry

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
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
// level that Lambda's own log format uses. Byte slices, raw JSON and headers are never written out,
// whoever passes them.
func NewLogger(w io.Writer, p Process) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: p.Level, ReplaceAttr: redact})
	log := slog.New(h).With("function", p.Function)
	if p.Deployed != "" {
		log = log.With(deployed, p.Deployed)
	}
	return log
}

func redact(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 {
		switch a.Key {
		case slog.TimeKey:
			a.Key = "timestamp"
		case slog.LevelKey:
			if a.Value.Any() == metricLevel {
				return slog.String(slog.LevelKey, "INFO")
			}
		}
	}
	switch v := a.Value.Any().(type) {
	case []byte:
		return withheld(a.Key, len(v))
	case json.RawMessage:
		return withheld(a.Key, len(v))
	case http.Header:
		return withheld(a.Key, len(v))
	}
	return a
}

func withheld(key string, n int) slog.Attr {
	return slog.String(key, "[withheld, length "+strconv.Itoa(n)+"]")
}
