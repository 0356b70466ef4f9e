package bench

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// A usage is what the process has used up to a moment.
type usage struct {
	at     time.Time
	cpu    time.Duration
	allocs uint64
	bytes  uint64
}

func used() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{at: time.Now(), cpu: processorTime(), allocs: m.Mallocs, bytes: m.TotalAlloc}
}

// since is what was used from u on, for each of n.
func (u usage) since(n int) Usage {
	now := used()
	each := float64(n)
	return Usage{
		WallUS: micros(now.at.Sub(u.at)) / each, CPUUS: micros(now.cpu-u.cpu) / each,
		Allocs: float64(now.allocs-u.allocs) / each, Bytes: float64(now.bytes-u.bytes) / each,
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// A sample is numbers of one kind, in the order in which they were measured.
type sample []float64

// at is the value below which a share of them is.
func (s sample) at(share float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (s sample) times() Times { return Times{P50US: s.at(0.50), P99US: s.at(0.99)} }

// spread is the median of them, and half of what the middle half of them spans.
func (s sample) spread() Spread {
	return Spread{Median: s.at(0.50), Noise: (s.at(0.75) - s.at(0.25)) / 2}
}

// certain is the median of them, and what it is uncertain by: 1.25 standard errors, as of a normal distribution with
// these quartiles.
func (s sample) certain() Spread {
	const deviation = 1.48 // of a normal distribution, in halves of what its middle half spans
	m := s.spread()
	m.Noise *= 1.25 * deviation / math.Sqrt(float64(len(s)))
	return m
}

// growth is how much more b is than a, pair by pair, in per cent.
func growth(a, b sample) Spread {
	var by sample
	for i := range a {
		by = append(by, 100*(b[i]/a[i]-1))
	}
	return by.certain()
}
