package inbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/object"
)

func TestQuietPeriods(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	product := object.ID{Kind: "product", Value: "7"}
	card, note := inbox.RecipeRef{Name: "card", Version: 3}, inbox.RecipeRef{Name: "note", Version: 1}
	tests := []struct {
		name  string
		event inbox.Event
		delay time.Duration
		sent  bool
		due   time.Duration // after it was received, with an age of five minutes
		heads []string
	}{
		{"none of its recipes waits", inbox.Event{Object: product, Recipes: []inbox.RecipeRef{card}}, 0, true, 5 * time.Minute, nil},
		{"one of two waits", inbox.Event{Object: product, Recipes: []inbox.RecipeRef{card, note}, Quiet: map[string]time.Duration{"card": 30 * time.Second}}, 30 * time.Second, true, 5*time.Minute + 30*time.Second, []string{"card"}},
		{"both wait, the longer one counts", inbox.Event{Object: product, Recipes: []inbox.RecipeRef{card, note}, Quiet: map[string]time.Duration{"card": 30 * time.Second, "note": time.Minute}}, time.Minute, true, 6 * time.Minute, []string{"card", "note"}},
		{"as long as a message can wait", inbox.Event{Object: product, Recipes: []inbox.RecipeRef{card}, Quiet: map[string]time.Duration{"card": 15 * time.Minute}}, 15 * time.Minute, true, 20 * time.Minute, []string{"card"}},
		{"longer than a message can wait", inbox.Event{Object: product, Recipes: []inbox.RecipeRef{card}, Quiet: map[string]time.Duration{"card": time.Hour}}, time.Hour, false, time.Hour, []string{"card"}},
		{"nothing can be made of it", inbox.Event{Recipes: []inbox.RecipeRef{card}, Quiet: map[string]time.Duration{"card": 30 * time.Second}}, 30 * time.Second, true, 5*time.Minute + 30*time.Second, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.event.ReceivedAt = at
			ref, sent := tt.event.Reference()
			if ref.Delay != tt.delay || sent != tt.sent {
				t.Errorf("delay %v, sent %v; want %v, %v", ref.Delay, sent, tt.delay, tt.sent)
			}
			if due := tt.event.DueAfter(at, 5*time.Minute); !due.Equal(at.Add(tt.due)) {
				t.Errorf("due %v, want %v", due.Sub(at), tt.due)
			}
			var heads []string
			for _, h := range tt.event.Heads() {
				heads = append(heads, h.Recipe)
				if h.ExpiresAt.Before(at.Add(24 * time.Hour)) {
					t.Errorf("the head of %s expires at %v", h.Recipe, h.ExpiresAt)
				}
			}
			if diff := cmp.Diff(tt.heads, heads); diff != "" {
				t.Errorf("heads (-want +got):\n%s", diff)
			}
		})
	}
}
