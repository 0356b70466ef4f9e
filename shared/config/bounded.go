package config

// A bounded map keeps at most a number of entries: what is put beyond it pushes out what came first.
// It is not safe for concurrent use.
type bounded[K comparable, V any] struct {
	limit   int
	entries map[K]V
	order   []K // oldest at next, once full
	next    int
}

func newBounded[K comparable, V any](limit int) *bounded[K, V] {
	return &bounded[K, V]{limit: limit, entries: map[K]V{}}
}

func (b *bounded[K, V]) get(key K) (V, bool) {
	v, ok := b.entries[key]
	return v, ok
}

func (b *bounded[K, V]) put(key K, v V) {
	if _, known := b.entries[key]; !known {
		if len(b.order) < b.limit {
			b.order = append(b.order, key)
		} else {
			delete(b.entries, b.order[b.next])
			b.order[b.next] = key
			b.next = (b.next + 1) % b.limit
		}
	}
	b.entries[key] = v
}
