package settings_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"engang/shared/settings"
)

func reader(env map[string]string) *settings.Reader {
	return settings.New(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
}

func TestSettingsAreRead(t *testing.T) {
	r := reader(map[string]string{
		"TABLE_NAME": "engang", "QUEUE_URL": "https://sqs.eu-north-1.amazonaws.com/1/work",
		"LIMIT": "4", "SECONDS": "90", "LOG_LEVEL": "warn", "EMPTY": "",
	})
	for _, tc := range []struct {
		name      string
		got, want any
	}{
		{"text", r.Text("TABLE_NAME"), "engang"},
		{"text that may be missing", r.TextOr("TABLE_NAME", "x"), "engang"},
		{"text that is missing", r.TextOr("NONE", "x"), "x"},
		{"text that is set to nothing", r.TextOr("EMPTY", "x"), "x"}, // an empty template parameter
		{"address", r.URL("QUEUE_URL"), "https://sqs.eu-north-1.amazonaws.com/1/work"},
		{"number", r.Int("LIMIT", 1, 10), 4},
		{"number that is missing", r.Int("NONE", 7, 10), 7},
		{"seconds", r.Seconds("SECONDS", time.Minute), 90 * time.Second},
		{"seconds that are missing", r.Seconds("NONE", time.Minute), time.Minute},
		{"level", r.Level("LOG_LEVEL"), slog.LevelWarn},
		{"level that is missing", r.Level("NONE"), slog.LevelInfo},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, tc.got, tc.want)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestEveryFaultAtOnceWithoutValues(t *testing.T) {
	r := reader(map[string]string{
		"URL": "ftp://hush", "ZERO": "0", "LARGE": "11", "WORD": "hush", "LEVEL": "hush", "DAYS": "100000", "EMPTY": "", "PATH_ONLY": "/hush",
	})
	r.Text("NONE")
	r.Text("EMPTY")
	r.URL("NO_URL")
	r.URL("URL")
	r.URL("PATH_ONLY")
	r.Int("ZERO", 1, 10)
	r.Int("LARGE", 1, 10)
	r.Int("WORD", 1, 10)
	r.Seconds("DAYS", time.Second)
	r.Level("LEVEL")
	err := r.Err()
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, name := range []string{"NONE", "EMPTY", "NO_URL", "URL", "PATH_ONLY", "ZERO", "LARGE", "WORD", "DAYS", "LEVEL"} {
		if !strings.Contains(err.Error(), "setting "+name+" ") {
			t.Errorf("%s is not named in:\n%v", name, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 10 {
		t.Errorf("%d faults, want 10:\n%v", n, err)
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("a value is repeated in:\n%v", err)
	}
}
