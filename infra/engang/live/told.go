package live

// remembered is how many of what was told last are known for certain: at most twice as many are kept.
const remembered = 10_000

// A told remembers what was told last. A system that runs for weeks tells of more than a memory holds, and nothing that
// is so long past comes again.
type told struct{ now, before map[string]bool }

// first tells whether something is not among what was told last, and remembers it.
func (m *told) first(key string) bool {
	if m.now[key] || m.before[key] {
		return false
	}
	if m.now == nil || len(m.now) >= remembered {
		m.now, m.before = map[string]bool{}, m.now
	}
	m.now[key] = true
	return true
}
