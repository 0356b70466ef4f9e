package bodies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// maxPacked is more than any packed body that the receiver takes: it bounds what is read.
const maxPacked = 8 << 20

// A Bucket holds bodies that are too big for an item. It is safe for concurrent use.
type Bucket struct {
	client *s3.Client
	name   string
}

// Open returns the bucket. Nothing is called yet.
func Open(cfg aws.Config, bucket string) *Bucket {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = cfg.BaseEndpoint != nil // a local engine has no host name for each bucket
	})
	return &Bucket{client: client, name: bucket}
}

// Keep makes a body ready to be stored with its event: packed beside it, or, over [MaxInline], put into
// the bucket first and named by its key. Keeping the same one again changes nothing. A crash before the
// event is stored leaves a body that nothing names, which the bucket's lifecycle rule removes.
func (b *Bucket) Keep(ctx context.Context, event inbox.EventID, raw []byte) (inbox.Body, error) {
	packed := Pack(raw)
	if len(packed) <= MaxInline {
		return inbox.Body{Packed: packed, Bytes: len(raw)}, nil
	}
	key := keyOf(event, raw)
	_, err := b.client.PutObject(telemetry.WithCall(ctx, "put body"), &s3.PutObjectInput{
		Bucket:      &b.name,
		Key:         &key,
		Body:        bytes.NewReader(packed),
		ContentType: aws.String("application/gzip"),
	})
	if err != nil {
		return inbox.Body{}, fmt.Errorf("put body %s: %w", key, err)
	}
	return inbox.Body{Key: key, Bytes: len(raw)}, nil
}

// keyOf is where a body is: by event, so that all of an event's bodies are found, and by content, so
// that a conflicting delivery, which has the same event id, never replaces the first one's bytes.
func keyOf(event inbox.EventID, raw []byte) string {
	return below(event) + document.Digest(raw)
}

// below is what the keys of all bodies of an event begin with.
func below(event inbox.EventID) string { return "raw/" + string(event) + "/" }

// Read returns the exact bytes of a body, from the event itself or from the bucket. It returns [ErrGone] for one
// that is not in the bucket any more.
func (b *Bucket) Read(ctx context.Context, body inbox.Body) ([]byte, error) {
	packed := body.Packed
	if body.Key != "" {
		var err error
		if packed, err = b.fetch(ctx, body.Key); err != nil {
			return nil, err
		}
	}
	return Unpack(packed, body.Bytes)
}

func (b *Bucket) fetch(ctx context.Context, key string) ([]byte, error) {
	out, err := b.client.GetObject(telemetry.WithCall(ctx, "read body"), &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	if _, gone := errors.AsType[*types.NoSuchKey](err); gone {
		return nil, fmt.Errorf("read body %s: %w", key, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("read body %s: %w", key, err)
	}
	defer out.Body.Close()
	packed, err := io.ReadAll(io.LimitReader(out.Body, maxPacked+1))
	if err != nil {
		return nil, fmt.Errorf("read body %s: %w", key, err)
	}
	if len(packed) > maxPacked {
		return nil, fmt.Errorf("read body %s, over %d bytes: %w", key, maxPacked, ErrDamaged)
	}
	return packed, nil
}
