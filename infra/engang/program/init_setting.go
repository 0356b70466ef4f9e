package program

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"engang/infra/configfile"
)

// A setting is the configuration that a new file becomes a part of.
type setting struct {
	tenant, environment string // empty: nothing says
	dir                 string
	files               []string // that are a part of it already
	sections            []string // that they hold
	whole               bool     // nothing else lies in the folder
}

// settingOf reads from the flags and the files of a folder whose the next one is. It refuses where the
// files do not agree, or cannot be read, and the flags do not say it either.
func (p *program) settingOf(dir string) (setting, error) {
	at := setting{tenant: p.tenant, environment: p.environment, dir: dir}
	heads, err := configfile.Heads(dir)
	if err != nil {
		return at, usage("--dir: %w", err)
	}
	said := p.tenant != "" && p.environment != ""
	tenants, environments := map[string]bool{}, map[string]bool{}
	for _, h := range heads {
		switch {
		case h.Foreign || said:
		case len(h.Faults) > 0:
			return at, usage("whose the new file is cannot be told from those beside it: mend them, or say --tenant and --environment\n%w", h.Faults)
		case at.fits(h):
			tenants[h.Tenant], environments[h.Environment] = true, true
		}
	}
	for flag, one := range map[*string]map[string]bool{&at.tenant: tenants, &at.environment: environments} {
		delete(one, "")
		if *flag == "" && len(one) > 1 {
			all := slices.Concat(slices.Sorted(maps.Keys(tenants)), slices.Sorted(maps.Keys(environments)))
			return at, usage("the configuration files in %s are of more than one tenant or environment (%s): say --tenant and --environment, or choose another --dir", dir, strings.Join(all, ", "))
		}
		for only := range one {
			*flag = only
		}
	}
	for _, h := range heads {
		if h.Foreign || len(h.Faults) > 0 || !at.fits(h) {
			continue
		}
		at.files = append(at.files, h.File)
		at.sections = append(at.sections, h.Sections...)
	}
	at.whole = len(at.files) == len(heads)
	return at, nil
}

// fits tells whether a file can be of the same tenant and environment, as far as both are known.
func (s setting) fits(h configfile.Head) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return same(s.tenant, h.Tenant) && same(s.environment, h.Environment)
}

// applied is what apply is given so that all of the configuration is applied at once: what is left out
// would be taken away from what is live.
func (s setting) applied(file string) string {
	switch {
	case len(s.files) == 0:
		return word(file)
	case s.whole:
		return word(filepath.Clean(s.dir))
	}
	words := []string{}
	for _, name := range append(slices.Clone(s.files), file) {
		words = append(words, word(name))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// word is a word of a command, for a shell.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
