package mask

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxDigits = 19 // of a card; nothing longer is looked for
	maxGap    = 3  // characters between two groups of digits: ") "
)

// numbers replaces numbers, from left to right, in whole groups of digits. Whether something is replaced
// depends on its own digits, on what parts them, and on the characters beside it as they are in the masked
// text: so that what is left holds nothing more to find. From each group at most maxDigits digits are looked
// at, which keeps the time in proportion to the text.
func (m Masker) numbers(s string) (string, int) {
	w := writer{s: s}
	for at := 0; ; {
		start := nextDigit(s, at)
		if start < 0 {
			return w.done()
		}
		for r := readRun(s, start, w.last); ; r.drop() {
			if r.n == 0 { // more digits than any number has
				at = endOfDigits(s, r.start)
				break
			}
			if kind, end := m.find(&r); kind != "" {
				w.replace(r.opening(kind, end), end, kind)
				at = end
				break
			}
			if at = r.groups[0].end; r.n == 1 && !r.more {
				break
			}
		}
	}
}

// find tells what begins at a run, and where it ends.
func (m Masker) find(r *run) (Kind, int) {
	_, called := r.plus()
	if m.phone && called {
		if n := phone(r); n > 0 {
			return Phone, r.groups[n-1].end
		}
	}
	if m.card {
		if n := card(r); n > 0 {
			return Card, r.groups[n-1].end
		}
	}
	if m.nationalID {
		if end := nationalID(r); end > 0 {
			return NationalID, end
		}
	}
	if m.phone && !called {
		if n := phone(r); n > 0 {
			return Phone, r.groups[n-1].end
		}
	}
	return "", 0
}

// A run is one group of digits and those that follow it.
type run struct {
	s      string
	start  int // of the first digit
	after  int // end of what was replaced last: a placeholder stands before it
	digits [maxDigits]byte
	groups [maxDigits]group
	n      int // groups

	more bool // a group follows that was not read: with it there would be too many digits
	next int  // where it begins
	gap  gap  // and what stands before it
}

// A group is digits in a row.
type group struct {
	start, end int
	upto       int // digits of the run up to here
	gap        gap // what parts it from the group before
}

// A gap is the set of what stands between two groups.
type gap uint8

const (
	space gap = 1 << iota
	dash
	dot
	slash
	opened
	closed
	plus
)

// readRun reads groups until something else comes, or more digits than any number has. A first group that is
// too long gives a run of no groups.
func readRun(s string, start, after int) run {
	r := run{s: s, start: start, after: after, more: true, next: start}
	r.fill()
	return r
}

// fill reads on.
func (r *run) fill() {
	for r.more {
		g := group{start: r.next, end: r.next, gap: r.gap}
		if r.n > 0 {
			g.upto = r.groups[r.n-1].upto
		}
		for i := r.next; i < len(r.s); {
			c, size := utf8.DecodeRuneInString(r.s[i:])
			i += size
			if v, ok := digit(c); ok {
				if g.upto == maxDigits {
					return
				}
				r.digits[g.upto] = byte(v)
				g.upto++
				g.end = i
			} else if !unseen(c) {
				break
			}
		}
		r.groups[r.n] = g
		r.n++
		r.next, r.gap, r.more = nextGroup(r.s, g.end)
	}
}

// drop goes on to the group after the first.
func (r *run) drop() {
	gone := r.groups[0].upto
	copy(r.digits[:], r.digits[gone:])
	copy(r.groups[:], r.groups[1:r.n])
	r.n--
	for i := range r.n {
		r.groups[i].upto -= gone
	}
	r.fill()
	r.start = r.next
	if r.n > 0 {
		r.start = r.groups[0].start
	}
}

// nextGroup finds the digit after a gap, if there is one. A dash between spaces parts two numbers, and so
// does a slash with a space.
func nextGroup(s string, end int) (at int, between gap, ok bool) {
	for i, n := end, 0; i < len(s) && n <= maxGap; n++ {
		c, size := utf8.DecodeRuneInString(s[i:])
		if isDigit(c) {
			if between == space|dash && n == maxGap || between&slash != 0 && between != slash {
				return 0, 0, false
			}
			return i, between, true
		}
		g, ok := gaps(c)
		if !ok {
			return 0, 0, false
		}
		between |= g
		i += size
	}
	return 0, 0, false
}

func gaps(c rune) (gap, bool) {
	switch c {
	case ' ', '\t':
		return space, true
	case '.':
		return dot, true
	case '/':
		return slash, true
	case '(':
		return opened, true
	case ')':
		return closed, true
	case '+', '\uff0b':
		return plus, true
	}
	switch {
	case c == '-' || c == '\u2212' || unicode.Is(unicode.Pd, c):
		return dash, true
	case unicode.Is(unicode.Zs, c):
		return space, true
	case unseen(c):
		return 0, true
	}
	return 0, false
}

// size is how many digits a group has.
func (r *run) size(i int) int {
	if i == 0 {
		return r.groups[0].upto
	}
	return r.groups[i].upto - r.groups[i-1].upto
}

// sized tells whether the first groups have these sizes.
func (r *run) sized(sizes ...int) bool {
	if len(sizes) > r.n {
		return false
	}
	for i, size := range sizes {
		if r.size(i) != size {
			return false
		}
	}
	return true
}

// parted tells whether nothing but the allowed parts the first groups.
func (r *run) parted(n int, allowed gap) bool {
	for i := 1; i < n; i++ {
		if r.groups[i].gap&^allowed != 0 {
			return false
		}
	}
	return true
}

// uniform tells whether the same parts groups from one up to another.
func (r *run) uniform(from, n int) bool {
	for i := from + 1; i < n; i++ {
		if r.groups[i].gap != r.groups[from].gap {
			return false
		}
	}
	return true
}

// before is the character before a place of the masked text; none where a placeholder stands, or nothing.
func (r *run) before(at int) (rune, int) {
	c, size := utf8.DecodeLastRuneInString(r.s[r.after:at])
	return c, at - size
}

// touches tells whether a letter stands beside the first groups.
func (r *run) touches(n int) bool {
	left, _ := r.before(r.start)
	right, _ := utf8.DecodeRuneInString(r.s[r.groups[n-1].end:])
	return unicode.IsLetter(left) || unicode.IsLetter(right)
}

// fraction tells whether the run stands behind a decimal point.
func (r *run) fraction() bool {
	c, at := r.before(r.start)
	if c != '.' && c != ',' {
		return false
	}
	c, _ = r.before(at)
	return isDigit(c)
}

// plus is where a + stands before the run, if one does.
func (r *run) plus() (int, bool) {
	c, at := r.before(r.start)
	if g, _ := gaps(c); g == space {
		c, at = r.before(at)
	}
	g, _ := gaps(c)
	return at, g == plus
}

// opening is where the replacement of a match begins: with its + and with a bracket that it closes.
func (r *run) opening(k Kind, end int) int {
	start := r.start
	if at, ok := r.plus(); ok && k == Phone {
		start = at
	}
	depth := 0
	for i := 1; i < r.n && r.groups[i].end <= end; i++ {
		if r.groups[i].gap&closed != 0 {
			depth++
		}
		if r.groups[i].gap&opened != 0 {
			depth--
		}
	}
	if c, at := r.before(start); depth > 0 && c == '(' {
		start = at
	}
	return start
}

func nextDigit(s string, from int) int {
	for i, c := range s[from:] {
		if isDigit(c) {
			return from + i
		}
	}
	return -1
}

func endOfDigits(s string, from int) int {
	for i, c := range s[from:] {
		if !isDigit(c) && !unseen(c) {
			return from + i
		}
	}
	return len(s)
}

func isDigit(c rune) bool {
	return '0' <= c && c <= '9' || c >= utf8.RuneSelf && unicode.Is(unicode.Nd, c)
}

// digit is the value of a digit of any script: its ten digits stand together, zero first.
func digit(c rune) (int, bool) {
	if c < utf8.RuneSelf {
		return int(c - '0'), '0' <= c && c <= '9'
	}
	for _, r := range unicode.Nd.R16 {
		if rune(r.Lo) <= c && c <= rune(r.Hi) {
			return int(c-rune(r.Lo)) % 10, true
		}
	}
	for _, r := range unicode.Nd.R32 {
		if rune(r.Lo) <= c && c <= rune(r.Hi) {
			return int(c-rune(r.Lo)) % 10, true
		}
	}
	return 0, false
}
