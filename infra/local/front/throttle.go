package front

import (
	"sync"
	"time"
)

// A bucket lets rate requests a second pass, and up to burst at once. Its zero value is full.
type bucket struct {
	mu   sync.Mutex
	used float64
	last time.Time
}

func (b *bucket) take(now time.Time, rate float64, burst int) bool {
	if rate <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = max(0, b.used-rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.used+1 > float64(burst) {
		return false
	}
	b.used++
	return true
}
