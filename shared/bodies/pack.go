// Package bodies keeps the exact bytes of deliveries: packed beside the event while they are small,
// else in a bucket, under a key that the event names (a claim check).
package bodies

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxInline is the largest packed body that is stored in the event itself.
const MaxInline = 16 << 10

// ErrGone says that a body is not in the bucket: it was erased, or its life was over.
var ErrGone = errors.New("body is gone")

// ErrDamaged says that stored bytes are not the packed body that they should be.
var ErrDamaged = errors.New("stored body is damaged")

// packers holds idle compressors: making one costs more than packing a usual body.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// Pack compresses a body. The same bytes always give the same packed bytes.
func Pack(raw []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(raw)/2 + 64)
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(&b)
	z.Write(raw) // a buffer takes everything; neither call can fail
	z.Close()
	return b.Bytes()
}

// Unpack gives the bytes that [Pack] was given; size is how many they were. It never builds more than
// that, whatever the packed bytes claim. An error wraps [ErrDamaged] and repeats nothing of the body.
func Unpack(packed []byte, size int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("not packed: %w", ErrDamaged)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(z, raw); err != nil {
		return nil, fmt.Errorf("less than %d bytes: %w", size, ErrDamaged)
	}
	if n, err := io.ReadFull(z, make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) { // the checksum is read at the end only
		return nil, fmt.Errorf("more than %d bytes, or another checksum: %w", size, ErrDamaged)
	}
	return raw, nil
}
