package dynamo_test

import (
	"testing"

	"engang/shared/dynamo"
	"engang/shared/inbox"
)

// BenchmarkEventItem writes an event as an item and reads it back, without client and network.
func BenchmarkEventItem(b *testing.B) {
	ev := arrival(1)
	ev.Body = inbox.Body{Packed: make([]byte, 2600), Bytes: 8192}
	it := dynamo.EventItem(ev)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = dynamo.EventItem(ev)
		}
	})
	b.Run("size", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = dynamo.ItemSize(it)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := dynamo.ReadEvent(it); err != nil {
				b.Fatal(err)
			}
		}
	})
}
