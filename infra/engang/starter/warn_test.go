package starter_test

import (
	"testing"
	"time"

	"engang/shared/config/apply"
	"engang/shared/webhook"
)

func TestNothingInAFileToStartFromIsWorthAWarning(t *testing.T) {
	for _, provider := range webhook.Names() {
		_, set := start(t, provider)
		if found := apply.Warnings(set, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)); len(found) > 0 {
			t.Errorf("%s: %v", provider, found)
		}
	}
}
