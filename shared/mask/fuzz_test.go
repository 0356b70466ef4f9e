package mask_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"engang/shared/mask"
)

// What is looked for in the fuzz tests is written anew: simpler, and of plain text only.
var (
	plainEmail = regexp.MustCompile(`[a-z0-9]@[a-z0-9]+\.[a-z]{2}`)
	plainPhone = regexp.MustCompile(`\+[\p{Nd}\p{Cf}]+`)
	plainRun   = regexp.MustCompile(`[\p{Nd}\p{Cf}]+`)
	called     = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	digitsOnly = regexp.MustCompile(`^[0-9]{11,19}$`)
)

func fitsCard(digits string) bool {
	sum := 0
	for i := range digits {
		v := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			v = v*2/10 + v*2%10
		}
		sum += v
	}
	return len(digits) >= 13 && sum%10 == 0
}

func fitsNorwegian(digits string) bool {
	if len(digits) != 11 {
		return false
	}
	check := func(n int, weights ...int) bool {
		sum := 0
		for i, w := range weights {
			sum += w * int(digits[i]-'0')
		}
		rest := 11 - sum%11
		return rest%11 == int(digits[n]-'0')
	}
	return check(9, 3, 7, 6, 1, 8, 9, 4, 5, 2) && check(10, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
}

func FuzzText(f *testing.F) {
	var seeds []string
	for _, tt := range found {
		seeds = append(seeds, tt.text)
	}
	for i, seed := range seeds {
		f.Add(seed)
		f.Add(seed + seeds[(i*7+3)%len(seeds)])
	}
	f.Add(strings.Join(seeds, ""))
	f.Add(strings.Join(seeds, " "))
	m := mask.New(mask.Kinds...)
	f.Fuzz(func(t *testing.T, text string) {
		once, n := m.Text(text)
		if again, m := m.Text(text); again != once || m != n {
			t.Fatalf("the same text gave %q and %q", once, again)
		}
		if n == 0 && once != text {
			t.Errorf("%q became %q, and nothing was counted", text, once)
		}
		if twice, n := m.Text(once); n != 0 || twice != once {
			t.Errorf("%q became %q, and that %q", text, once, twice)
		}
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Errorf("%q became what is no text", text)
		}
		if found := plainEmail.FindString(once); found != "" {
			t.Errorf("%q holds %q", once, found)
		}
		for _, run := range plainPhone.FindAllString(once, -1) {
			if called.MatchString(run) {
				t.Errorf("%q holds %q", once, run)
			}
		}
		for _, run := range plainRun.FindAllString(once, -1) {
			if digitsOnly.MatchString(run) && (fitsCard(run) || fitsNorwegian(run)) {
				t.Errorf("%q holds %q", once, run)
			}
		}
	})
}
