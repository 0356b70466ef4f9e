package settings

import "strings"

// TableName reads the name of a table that must be there. One that DynamoDB would not take is a fault at the start and
// not at each call.
func (r *Reader) TableName(name string) string {
	return r.shaped(name, "is no name of a table: 3 to 255 letters, digits, hyphens, underscores and dots", func(v string) bool {
		return len(v) >= 3 && len(v) <= 255 && plain(v)
	})
}

// SecretPath reads the path below which secrets stand, which must be there: "/engang/my-stack". A shorter one would be
// that of several stacks.
func (r *Reader) SecretPath(name string) string {
	return r.shaped(name, "is no path of parameters: / and at least two steps, as /engang/my-stack, without one at the end", func(v string) bool {
		rest, ok := strings.CutPrefix(v, "/")
		steps := 0
		for step := range strings.SplitSeq(rest, "/") {
			ok = ok && step != "" && plain(step)
			steps++
		}
		return ok && steps >= 2
	})
}

// region reads the name of a region, as "eu-north-1" or "us-gov-west-1": it becomes part of a host's name.
func (r *Reader) region(name string) string {
	return r.shaped(name, "is no region of AWS, as eu-north-1", func(v string) bool {
		steps := 0
		for step := range strings.SplitSeq(v, "-") {
			if step == "" || step != strings.ToLower(step) || strings.ContainsAny(step, "_.") || !plain(step) {
				return false
			}
			steps++
		}
		return steps >= 2 && v[0] >= 'a' && v[len(v)-1] <= '9'
	})
}

func (r *Reader) shaped(name, what string, fits func(string) bool) string {
	v := r.Text(name)
	if v != "" && !fits(v) {
		r.fault(name, what)
	}
	return v
}

// plain tells whether a text has only letters, digits, hyphens, underscores and dots.
func plain(v string) bool {
	for i := range len(v) {
		switch c := v[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}
