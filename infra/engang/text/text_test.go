package text_test

import (
	"strings"
	"testing"
	"time"

	"engang/infra/engang/text"
)

func TestParseTime(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"2026-11-29T11:00:00+01:00": noon.Add(-2 * time.Hour), "2h": noon.Add(-2 * time.Hour), "3d": noon.AddDate(0, 0, -3), "90s": noon.Add(-90 * time.Second), "0d": noon,
	} {
		if got, err := text.ParseTime(in, noon); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "yesterday", "-2h", "-1d", "d", "2026-11-29", "999999999d"} {
		if got, err := text.ParseTime(bad, noon); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestColumnsStandBelowEachOther(t *testing.T) {
	var b strings.Builder
	if err := text.Columns(&b, "  ", [][]string{{"a", "æøå", "x"}, {"long", "b", ""}, {"c"}}); err != nil {
		t.Fatal(err)
	}
	if want := "  a     æøå  x\n  long  b\n  c\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

func TestShortForms(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{text.ShortOperation("product:1/r@1/9f2c41d0aabb"), "product:1/r@1/9f2c41d0"},
		{text.ShortOperation("product:1/r@1/9f"), "product:1/r@1/9f"},
		{text.ShortOperation("nothing"), "nothing"},
		{text.ShortOperation("evt_aaaaaaaaaaaaaaaa/beefbeefbeef"), "evt_aaaaaaaaaaaaaaaa/beefbeef"},
		{text.ShortOperation("model openai/gpt-5.4-mini-2026-03-17"), "model openai/gpt-5.4-mini-2026-03-17"},
		{text.ShortDigest("sha256:9f2c41d0aabb"), "sha256:9f2c41d0"},
		{text.ShortDigest(""), ""},
		{text.Duration(1800 * time.Microsecond), "1 ms"},
		{text.Duration(1840 * time.Millisecond), "1.8 s"},
		{text.Duration(90 * time.Second), "1m30s"},
		{text.Count(1, "event", "events"), "1 event"},
		{text.Count(0, "event", "events"), "0 events"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
