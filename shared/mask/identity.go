package mask

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// card tells how many groups of a run are the number of a payment card; zero if none are.
func card(r *run) int {
	for n := r.n; n > 0 && r.groups[n-1].upto >= 13; n-- {
		if n > 1 && (!cardGroups(r, n) || !r.parted(n, space|dash|dot)) {
			continue
		}
		if luhn(r.digits[:r.groups[n-1].upto]) {
			return n
		}
	}
	return 0
}

// cardGroups tells whether digits are grouped as on a card: by four, or 4-6-5 and 4-6-4.
func cardGroups(r *run, n int) bool {
	if n == 3 && r.sized(4, 6) && (r.size(2) == 5 || r.size(2) == 4) {
		return true
	}
	for i := range n {
		if size := r.size(i); size > 4 || size < 4 && i < n-1 {
			return false
		}
	}
	return true
}

func luhn(digits []byte) bool {
	sum := 0
	for i, d := range slices.Backward(digits) {
		v := int(d)
		if (len(digits)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// nationalID tells where a national id ends that begins a run; zero if none does.
func nationalID(r *run) int {
	if end := finnish(r); end > 0 {
		return end
	}
	for n := min(r.n, 5); n > 0; n-- {
		d := r.digits[:r.groups[n-1].upto]
		if len(d) == 11 && norwegianGroups(r, n) && norwegian(d) || len(d) == 10 && tenDigits(r, n, d) || len(d) == 12 && twelveDigits(r, n, d) {
			return r.groups[n-1].end
		}
	}
	return 0
}

func norwegianGroups(r *run, n int) bool {
	if !r.parted(n, space|dash|dot) {
		return false
	}
	switch n {
	case 1:
		return true
	case 2:
		return r.sized(6, 5)
	case 3:
		return r.sized(6, 3, 2)
	case 4:
		return r.sized(2, 2, 2, 5)
	}
	return r.sized(2, 2, 2, 3, 2)
}

// norwegian checks both check digits, and no date: D-numbers, test persons and others change day or month.
func norwegian(d []byte) bool {
	return weighed(d, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1) && weighed(d, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)
}

// tenDigits tells whether ten digits are the id of a Swede, a Dane or an Icelander.
func tenDigits(r *run, n int, d []byte) bool {
	if n > 2 || n == 2 && (!r.sized(6, 4) || !r.parted(n, space|dash|plus)) {
		return false
	}
	first, month, third := two(d), two(d[2:]), two(d[4:])
	if month < 1 || month > 12 {
		return false
	}
	if (isDay(third) || isDay(third-60)) && luhn(d) {
		return true // a Swede: year, month, day; 60 more for who is only staying
	}
	if !isDay(first) {
		return false
	}
	icelandic := weighed(d, 3, 2, 7, 6, 5, 4, 3, 2, 1) && (d[9] == 0 || d[9] >= 8)
	danish := weighed(d, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)
	dashed := n == 2 && r.groups[1].gap == dash && !r.touches(n)
	return icelandic || danish || dashed
}

// twelveDigits tells whether twelve digits are the id of a Swede with the century.
func twelveDigits(r *run, n int, d []byte) bool {
	if n > 2 || n == 2 && (!r.sized(8, 4) || !r.parted(n, space|dash|plus)) {
		return false
	}
	century, month, day := two(d), two(d[4:]), two(d[6:])
	return century >= 18 && century <= 20 && month >= 1 && month <= 12 && (isDay(day) || isDay(day-60)) && luhn(d[2:])
}

func two(d []byte) int { return 10*int(d[0]) + int(d[1]) }

func isDay(n int) bool { return n >= 1 && n <= 31 }

// weighed tells whether the weighed sum of digits can be divided by eleven.
func weighed(d []byte, weights ...int) bool {
	sum := 0
	for i, w := range weights {
		sum += w * int(d[i])
	}
	return sum%11 == 0
}

const (
	finnishSigns = "+ABCDEFUVWXY"                    // of the century, besides dashes
	finnishCheck = "0123456789ABCDEFHJKLMNPRSTUVWXY" // by the remainder of 31
)

// finnish reads an id such as 131052-308T: a date, the century's sign, three digits, a check character.
func finnish(r *run) int {
	left, _ := r.before(r.start)
	if r.size(0) != 6 || unicode.IsLetter(left) || !isDay(two(r.digits[:])) || two(r.digits[2:]) < 1 || two(r.digits[2:]) > 12 {
		return 0
	}
	number := 0
	for _, d := range r.digits[:6] {
		number = 10*number + int(d)
	}
	at := r.groups[0].end
	sign, size := utf8.DecodeRuneInString(r.s[at:])
	if g, _ := gaps(sign); g != dash && !strings.ContainsRune(finnishSigns, unicode.ToUpper(sign)) {
		return 0
	}
	at += size
	for range 3 {
		c, size := utf8.DecodeRuneInString(r.s[at:])
		d, ok := digit(c)
		if !ok {
			return 0
		}
		number = 10*number + d
		at += size
	}
	check, size := utf8.DecodeRuneInString(r.s[at:])
	at += size
	if unicode.ToUpper(check) != rune(finnishCheck[number%31]) {
		return 0
	}
	next, _ := utf8.DecodeRuneInString(r.s[at:])
	if unicode.IsLetter(check) && unicode.IsLetter(next) || isDigit(check) && isDigit(next) {
		return 0
	}
	return at
}
