package mask

// phone tells how many groups of a run are a phone number; zero if none are.
func phone(r *run) int {
	if _, ok := r.plus(); ok && r.digits[0] != 0 {
		return international(r, 0)
	}
	if r.fraction() {
		return 0
	}
	switch first := r.size(0); {
	case first >= 4 && r.digits[0] == 0 && r.digits[1] == 0:
		if r.digits[2] == 0 {
			return 0
		}
		return international(r, 2)
	case first >= 2 && r.digits[0] == 0 && r.digits[1] != 0:
		return trunk(r)
	case r.digits[0] >= 2:
		return national(r)
	}
	return 0
}

// nationalDigits says how many digits follow a country's code, where that never varies.
var nationalDigits = []struct {
	code   []byte
	digits int
}{{[]byte{4, 7}, 8}, {[]byte{4, 5}, 8}, {[]byte{3, 5, 4}, 7}, {[]byte{2, 9, 8}, 6}}

// international takes as many groups as a number may have, and of countries whose numbers are of one length
// no more than that. The first digits may be the 00 in place of +.
func international(r *run, prefix int) int {
	least := 7
	if prefix > 0 {
		least = 9 // article numbers have zeros in front too
	}
	found := 0
	for n := 1; n <= r.n && r.parted(n, space|dash|dot|slash|opened|closed); n++ {
		d := r.digits[prefix:max(r.groups[n-1].upto, prefix)]
		if len(d) > 15 {
			break
		}
		if len(d) >= least {
			found = n
		}
		if complete(d) {
			break
		}
	}
	return found
}

// complete tells whether a number has all the digits that its country gives.
func complete(d []byte) bool {
	for _, c := range nationalDigits {
		if len(d) == len(c.code)+c.digits && string(d[:len(c.code)]) == string(c.code) {
			return true
		}
	}
	return false
}

// trunk takes the longest number with a trunk 0: 070-123 45 67, (08) 123 456 78, 01 23 45 67 89.
func trunk(r *run) int {
	for n := r.n; n > 0; n-- {
		if total := r.groups[n-1].upto; total >= 8 && total <= 12 && trunkGroups(r, n) && !r.touches(n) {
			return n
		}
	}
	return 0
}

func trunkGroups(r *run, n int) bool {
	if n == 1 {
		total := r.size(0)
		return total >= 9 && total <= 11
	}
	if r.size(0) > 5 {
		return false
	}
	pairs := r.size(0) == 2
	for i := 1; i < n; i++ {
		if r.size(i) < 2 || looksLikeYear(r, i) {
			return false
		}
		pairs = pairs && r.size(i) == 2
	}
	if pairs && r.uniform(1, n) && r.groups[n-1].upto >= 10 {
		return r.parted(n, space|dash|dot) && !steps(r, n)
	}
	if !r.parted(n, space|dash|slash|opened|closed) || !r.uniform(2, n) {
		return false
	}
	area := r.groups[1].gap&^space != 0                            // the area's code stands apart
	plain := n == 2 || r.groups[2].gap == space || r.uniform(1, n) // and nothing but spaces, or the same, follows
	return plain && (r.groups[n-1].upto >= 9 || area && (n == 2 || r.groups[2].gap == space))
}

// looksLikeYear tells a date from a number: 01-02-2026.
func looksLikeYear(r *run, i int) bool {
	if r.size(0) > 2 || r.size(i) != 4 {
		return false
	}
	from := r.groups[i-1].upto
	century := two(r.digits[from:])
	return century == 19 || century == 20
}

// national takes the eight digits of Norway and Denmark, and the ten of North America.
func national(r *run) int {
	found := 0
	switch {
	case r.sized(8):
		found = 1
	case r.sized(3, 2, 3):
		found = 3
	case r.sized(2, 2, 2, 2) && !steps(r, 4):
		found = 4
	case r.sized(3, 3, 4) && r.digits[3] >= 2 && r.parted(3, space|dash|dot|closed) && (r.groups[1].gap|r.groups[2].gap) != space && !r.touches(3):
		return 3
	}
	if found == 0 || r.touches(found) || !r.parted(found, space|dash|dot) || !r.uniform(1, found) {
		return 0
	}
	return found
}

// steps tells a list of sizes from a number: 36 38 40 42.
func steps(r *run, n int) bool {
	step := 0
	for i := 1; i < n; i++ {
		d := two(r.digits[2*i:]) - two(r.digits[2*i-2:])
		if d < 1 || d > 10 || i > 1 && d != step {
			return false
		}
		step = d
	}
	return true
}
