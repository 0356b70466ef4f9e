package spend_test

import (
	"testing"
	"time"

	"engang/shared/spend"
)

func TestDaysAndMinutesAreThoseOfUTC(t *testing.T) {
	east := time.FixedZone("east", 13*3600)
	tests := []struct {
		at                  time.Time
		day, minute         string
		nextDay, nextMinute string
	}{
		{time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), "2026-11-29", "2026-11-29T12:00", "2026-11-30T00:00:00Z", "2026-11-29T12:01:00Z"},
		{time.Date(2026, 11, 29, 23, 59, 59, 999, time.UTC), "2026-11-29", "2026-11-29T23:59", "2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z"},
		{time.Date(2026, 11, 30, 5, 30, 0, 0, east), "2026-11-29", "2026-11-29T16:30", "2026-11-30T00:00:00Z", "2026-11-29T16:31:00Z"},
	}
	for _, tt := range tests {
		if got := spend.DayOf(tt.at); got != tt.day {
			t.Errorf("%v is of %s, want %s", tt.at, got, tt.day)
		}
		if got := spend.MinuteOf(tt.at); got != tt.minute {
			t.Errorf("%v is of %s, want %s", tt.at, got, tt.minute)
		}
		if got := spend.NextDay(tt.at).Format(time.RFC3339); got != tt.nextDay {
			t.Errorf("the day after %v begins %s, want %s", tt.at, got, tt.nextDay)
		}
		if got := spend.NextMinute(tt.at).Format(time.RFC3339); got != tt.nextMinute {
			t.Errorf("the minute after %v begins %s, want %s", tt.at, got, tt.nextMinute)
		}
	}
}
