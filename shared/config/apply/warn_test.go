package apply_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/config/configtest"
)

func TestWarningsAreOfWhatIsAllowed(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	schema := func(enum string) func(*config.Set) {
		return func(s *config.Set) {
			s.Recipes[0].Output.Schema = json.RawMessage(strings.Replace(string(s.Recipes[0].Output.Schema), `"z":{"type":"string"}`, `"z":{"type":"string","enum":`+enum+`}`, 1))
		}
	}
	for _, test := range []struct {
		name   string
		change func(*config.Set)
		now    time.Time
		at     string // empty: none
	}{
		{"nothing", func(*config.Set) {}, now, ""},
		{"bodies that are kept long", func(s *config.Set) { s.Common.EventDays = 31 }, now, "/data/event_days"},
		{"a price of last spring", func(*config.Set) {}, now.AddDate(0, 0, 90), "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17"},
		{"names of customers in a schema", schema(`["none","Nordlys Kaffe"]`), now, cardAt + "/output/schema/properties/z/enum"},
		{"addresses in a schema", schema(`["ann@example.com"]`), now, cardAt + "/output/schema/properties/z/enum"},
		{"words in a schema", schema(`["color","New","in stock","XL"]`), now, ""},
	} {
		s := configtest.Set()
		s.Recipes[0].Input.Mask, s.Recipes[0].Limits.Attempts = []string{"email"}, 5
		test.change(&s)
		found := apply.Warnings(s, test.now)
		switch {
		case test.at == "" && len(found) > 0, test.at != "" && (len(found) != 1 || found[0].At != test.at || found[0].Reason == "" || found[0].Remedy == ""):
			t.Errorf("%s: %v", test.name, found)
		}
		if faults := apply.Check(s); len(faults) != 0 {
			t.Errorf("%s is not allowed: %v", test.name, faults)
		}
	}
}
