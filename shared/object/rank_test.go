package object_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"engang/shared/object"
)

func TestParseVersionBringsEverySpellingToOneWidth(t *testing.T) {
	tests := []struct {
		name, text string
		want       object.Version
		shown      string
	}{
		{"WooCommerce, without a zone", "2026-11-29T19:30:01", "2026-11-29T19:30:01.000000000Z", "2026-11-29T19:30:01Z"},
		{"with a space", "2026-11-29 19:30:01", "2026-11-29T19:30:01.000000000Z", "2026-11-29T19:30:01Z"},
		{"another zone", "2026-11-30T04:30:01.5+09:00", "2026-11-29T19:30:01.500000000Z", "2026-11-29T19:30:01.5Z"},
		{"nanoseconds", "2026-11-29T19:30:01.123456789Z", "2026-11-29T19:30:01.123456789Z", "2026-11-29T19:30:01.123456789Z"},
		{"a zone that moves the year", "2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000000000Z", "2027-01-01T00:30:00Z"},
		{"a number", "42", "00000000000000000042", "42"},
		{"zero", "0", "00000000000000000000", "0"},
		{"idle zeros", "007", "00000000000000000007", "7"},
		{"the largest number", "18446744073709551615", "18446744073709551615", "18446744073709551615"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := object.ParseVersion(tt.text)
			if err != nil || v != tt.want {
				t.Fatalf("ParseVersion(%q) = %q, %v; want %q", tt.text, v, err, tt.want)
			}
			if v.String() != tt.shown {
				t.Errorf("shown as %q, want %q", v, tt.shown)
			}
		})
	}
	for _, text := range []string{"", "now", "-1", "+1", "1.5", "1e3", "18446744073709551616", "2026-13-01T00:00:00Z", "2026-11-29", "9999-12-31T23:59:59-01:00", "0000-12-31T00:00:00Z", " 1", "1 "} {
		if v, err := object.ParseVersion(text); !errors.Is(err, object.ErrNoVersion) {
			t.Errorf("ParseVersion(%q) = %q, %v; want ErrNoVersion", text, v, err)
		}
	}
}

func TestVersionsSortAsTheirTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	zones := []*time.Location{time.UTC, time.FixedZone("", 9*3600), time.FixedZone("", -11*3600)}
	for range 2000 {
		a := time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(zones[r.IntN(3)])
		b := a.Add(time.Duration(r.Int64N(4e9) - 2e9)).In(zones[r.IntN(3)])
		va, errA := object.VersionAt(a)
		vb, errB := object.VersionAt(b)
		if errA != nil || errB != nil || a.Before(b) != (va < vb) || a.Equal(b) != (va == vb) {
			t.Fatalf("%v and %v became %q and %q (%v, %v)", a, b, va, vb, errA, errB)
		}
	}
}

func TestNewerVersionWinsWhateverTheOrderOfArrival(t *testing.T) {
	early := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	rank := func(version string, received time.Time, key string) object.Rank {
		v, err := object.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		return object.NewRank(v, received, key)
	}
	tests := []struct {
		name         string
		newer, older object.Rank
	}{
		{"newer version, arrived first", rank("2026-11-29T19:30:02", early, "a"), rank("2026-11-29T19:30:01", early.Add(time.Hour), "b")},
		{"higher number with more digits", rank("10", early, "a"), rank("9", early.Add(time.Hour), "b")},
		{"same second, stored later", rank("2026-11-29T19:30:01", early.Add(time.Millisecond), "a"), rank("2026-11-29T19:30:01", early, "b")},
		{"any rank against none", rank("0", early, "a"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !tt.newer.Newer(tt.older) || tt.older.Newer(tt.newer) {
				t.Errorf("%q is not newer than %q", tt.newer, tt.older)
			}
		})
	}
}

func TestTieOfMillisecondsIsBrokenByTheKeyTheSameWayEveryTime(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	a, b := object.NewRank("v", at, "first"), object.NewRank("v", at, "second")
	if a.Newer(b) == b.Newer(a) {
		t.Errorf("%q and %q have no order", a, b)
	}
	if a != object.NewRank("v", at.In(time.FixedZone("", 3600)).Add(999*time.Microsecond), "first") {
		t.Error("the same event got another rank")
	}
	if a.Newer(a) {
		t.Error("a rank is newer than itself")
	}
}

func TestRanksHaveOneOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var ranks []object.Rank
	for i := range 200 {
		v, err := object.VersionAt(time.Unix(r.Int64N(3), 0))
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, object.NewRank(v, time.UnixMilli(1e12+r.Int64N(3)), fmt.Sprint(i)))
	}
	slices.Sort(ranks)
	for i := range ranks {
		for j := range ranks {
			if ranks[j].Newer(ranks[i]) != (j > i) {
				t.Fatalf("%q and %q are out of order", ranks[i], ranks[j])
			}
		}
	}
}

// A rank is stored and compared with stored ones: its text never changes.
func TestRankTextIsStable(t *testing.T) {
	at := time.Date(2026, 11, 29, 19, 30, 1, 500e6, time.UTC)
	v, err := object.VersionAt(at)
	if err != nil {
		t.Fatal(err)
	}
	rank := object.NewRank(v, at, "woo:product.updated:11:2026-11-29T19:30:01")
	if want := object.Rank("2026-11-29T19:30:01.500000000Z#1795980601500#4e25c436599cf719"); rank != want {
		t.Errorf("rank %q, want %q", rank, want)
	}
	if rank.Version() != v {
		t.Errorf("version %q, want %q", rank.Version(), v)
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, seed := range []string{"2026-11-29T19:30:01", "2026-11-29T19:30:01.123456789+14:00", "42", "9999-12-31T23:59:59Z", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := object.ParseVersion(text)
		if err != nil {
			return
		}
		if len(v) != 30 && len(v) != 20 {
			t.Errorf("%q has no fixed width: %q", text, v)
		}
		if again, err := object.ParseVersion(v.String()); err != nil || again != v {
			t.Errorf("%q is shown as %q, which is %q, %v", text, v.String(), again, err)
		}
	})
}

func TestARankSaysWhenItsEventWasFirstStored(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 123_000_000, time.UTC)
	for _, v := range []object.Version{"2026-11-29T19:30:01.000000000Z", "00000000000000000042"} {
		if got := object.NewRank(v, at.Add(400*time.Microsecond), "key").ReceivedAt(); !got.Equal(at) {
			t.Errorf("%s: %v, want %v", v, got, at)
		}
	}
	for _, r := range []object.Rank{"", "00000000000000000042", "00000000000000000042#soon#abcd"} {
		if got := r.ReceivedAt(); !got.IsZero() {
			t.Errorf("%q: %v", r, got)
		}
	}
}
