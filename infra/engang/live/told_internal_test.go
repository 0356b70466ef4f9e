package live

import (
	"strconv"
	"testing"
)

func TestWhatWasToldLastIsToldOnceAndTheMemoryIsBounded(t *testing.T) {
	var m told
	for n := range 5 * remembered {
		if !m.first(strconv.Itoa(n)) {
			t.Fatalf("%d is not told", n)
		}
		for _, back := range []int{0, 1, remembered - 1} {
			if n >= back && m.first(strconv.Itoa(n-back)) {
				t.Fatalf("%d is told again after %d others", n-back, back)
			}
		}
	}
	if kept := len(m.now) + len(m.before); kept > 2*remembered {
		t.Errorf("%d are kept", kept)
	}
}
