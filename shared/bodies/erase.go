package bodies

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// Erase removes every body that was kept for an event, that of a conflicting delivery too, and returns how
// many there were. Erasing again finds none. After an error some may be left; each that is gone stays gone.
func (b *Bucket) Erase(ctx context.Context, event inbox.EventID) (int, error) {
	erased := 0
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(below(event))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(telemetry.WithCall(ctx, "list bodies"))
		if err != nil {
			return erased, fmt.Errorf("list bodies of event %s: %w", event, err)
		}
		for _, o := range page.Contents {
			if _, err := b.client.DeleteObject(telemetry.WithCall(ctx, "erase body"), &s3.DeleteObjectInput{Bucket: &b.name, Key: o.Key}); err != nil {
				return erased, fmt.Errorf("erase body of event %s: %w", event, err)
			}
			erased++
		}
	}
	return erased, nil
}

// Drop removes a body that was kept for a delivery and is wanted by nobody. One that stands beside its event is
// not in the bucket, and nothing is done.
func (b *Bucket) Drop(ctx context.Context, body inbox.Body) error {
	if body.Key == "" {
		return nil
	}
	if _, err := b.client.DeleteObject(telemetry.WithCall(ctx, "erase body"), &s3.DeleteObjectInput{Bucket: &b.name, Key: &body.Key}); err != nil {
		return fmt.Errorf("drop body %s: %w", body.Key, err)
	}
	return nil
}
