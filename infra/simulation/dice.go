package simulation

import (
	"strconv"
	"time"
)

// A dice throws numbers that depend on its seed and on what they are thrown for, and on nothing else: leaving out one
// throw changes no other, so that a history without one of its faults is as like the first one as can be.
type dice uint64

// throw is a number for the nth of something.
func (d dice) throw(what string, n int) uint64 {
	h := uint64(d) ^ 0xcbf29ce484222325
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 0x100000001b3
	}
	h ^= uint64(n) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// below is a number in [0,most).
func (d dice) below(most int, what string, n int) int {
	if most <= 0 {
		return 0
	}
	return int(d.throw(what, n) % uint64(most))
}

// chance is true in so many of a thousand cases.
func (d dice) chance(perMille int, what string, n int) bool { return d.below(1000, what, n) < perMille }

// unit is a number in [0,1).
func (d dice) unit(what string, n int) float64 { return float64(d.throw(what, n)>>11) / (1 << 53) }

// between is a time between two, in milliseconds.
func (d dice) between(from, to time.Duration, what string, n int) time.Duration {
	return from + time.Duration(d.below(int((to-from)/time.Millisecond)+1, what, n))*time.Millisecond
}

// id is a text that nothing else has.
func (d dice) id(what string, n int) string {
	return strconv.FormatUint(d.throw(what, n), 36) + strconv.FormatUint(uint64(n), 36)
}

// noise is a text that does not become shorter by packing it, but for what its letters leave unused.
func (d dice) noise(what string, length int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[d.throw(what, i)&63]
	}
	return string(text)
}
