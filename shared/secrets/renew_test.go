package secrets_test

import (
	"context"
	"testing"
	"time"

	"engang/shared/secrets"
)

// shelf is a source that counts how often it is asked.
type shelf struct {
	held  map[string]secrets.Value
	asked int
}

func (s *shelf) Parameters(_ context.Context, paths []string) (map[string]secrets.Value, error) {
	s.asked++
	found := map[string]secrets.Value{}
	for _, p := range paths {
		if v, ok := s.held[p]; ok {
			found[p] = v
		}
	}
	return found, nil
}

// Wrong signatures must not use up the parameter store: one secret is asked for again once in fifteen seconds.
func TestRenewedAsksAgainButNotAllTheTime(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := &shelf{held: map[string]secrets.Value{"hooks/a/1": secrets.NewValue("old")}}
	c := secrets.NewCache(s, 5*time.Minute, func() time.Time { return now })
	refs := []secrets.Ref{"ssm:hooks/a/1"}
	if _, err := c.Secrets(t.Context(), refs); err != nil {
		t.Fatal(err)
	}
	s.held["hooks/a/1"] = secrets.NewValue("new")
	now = now.Add(14 * time.Second)
	if v, changed, err := c.Renewed(t.Context(), refs); err != nil || changed || string(v[0].Reveal()) != "old" || s.asked != 1 {
		t.Errorf("after 14 s: changed %v, %v, asked %d times", changed, err, s.asked)
	}
	now = now.Add(time.Second)
	if v, changed, err := c.Renewed(t.Context(), refs); err != nil || !changed || string(v[0].Reveal()) != "new" || s.asked != 2 {
		t.Errorf("after 15 s: changed %v, %v, asked %d times", changed, err, s.asked)
	}
	for range 100 {
		if _, changed, err := c.Renewed(t.Context(), refs); err != nil || changed {
			t.Fatalf("changed %v, %v", changed, err)
		}
	}
	if s.asked != 2 {
		t.Errorf("asked %d times", s.asked)
	}
}
