package bodies_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sivchari/kumo"

	"engang/shared/bodies"
	"engang/shared/inbox"
)

func TestPackedBodiesComeBackByteForByte(t *testing.T) {
	noise := make([]byte, 70_000)
	rand.Read(noise)
	for _, tc := range []struct {
		name string
		raw  []byte
	}{
		{"nothing", nil},
		{"one byte", []byte("x")},
		{"escapes as WooCommerce writes them", []byte(`{"name":"Mug \/ \u00c5"}`)},
		{"a large body that packs well", []byte(strings.Repeat(`{"a":1},`, 500_000))},
		{"bytes that do not pack", noise},
	} {
		t.Run(tc.name, func(t *testing.T) {
			packed := bodies.Pack(tc.raw)
			got, err := bodies.Unpack(packed, len(tc.raw))
			if err != nil || !bytes.Equal(got, tc.raw) {
				t.Fatalf("Unpack = %d bytes, %v; want %d", len(got), err, len(tc.raw))
			}
			if !bytes.Equal(packed, bodies.Pack(tc.raw)) {
				t.Error("packing twice gave two results")
			}
		})
	}
}

func TestPackedBytesAreTheCallersOwn(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			raw := bytes.Repeat([]byte{byte(i)}, 1000+i)
			for range 200 {
				if got, err := bodies.Unpack(bodies.Pack(raw), len(raw)); err != nil || !bytes.Equal(got, raw) {
					t.Errorf("body %d came back as another: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestUnpackRefusesWhatIsNotTheBody(t *testing.T) {
	raw := []byte(strings.Repeat("secret customer ", 100))
	packed := bodies.Pack(raw)
	broken := bytes.Clone(packed)
	broken[len(broken)-5] ^= 1 // inside the checksum
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 64<<20))
	z.Close()
	for _, tc := range []struct {
		name   string
		packed []byte
		size   int
	}{
		{"bytes that were never packed", raw, len(raw)},
		{"nothing", nil, 0},
		{"cut off", packed[:len(packed)-9], len(raw)},
		{"another checksum", broken, len(raw)},
		{"less than was said", packed, len(raw) + 1},
		{"more than was said", packed, len(raw) - 1},
		{"64 MiB where 100 bytes were said", bomb.Bytes(), 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := bodies.Unpack(tc.packed, tc.size)
			if !errors.Is(err, bodies.ErrDamaged) || got != nil {
				t.Fatalf("Unpack = %d bytes, %v; want ErrDamaged", len(got), err)
			}
			if strings.Contains(err.Error(), "customer") {
				t.Errorf("error repeats the body: %v", err)
			}
		})
	}
}

func engine(t *testing.T) *bodies.Bucket {
	t.Helper()
	srv := kumo.NewServer()
	t.Cleanup(srv.Close)
	cfg := aws.Config{
		Region:       "eu-north-1",
		BaseEndpoint: &srv.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	name := strings.ToLower(t.Name())
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return bodies.Open(cfg, name)
}

func TestBucketKeepsBodies(t *testing.T) {
	b := engine(t)
	raw := make([]byte, 40_000)
	rand.Read(raw)
	key := bodies.Key("evt_abcdefghijklmnop", raw)
	for range 2 { // a repeat of the same delivery puts it again
		if err := b.Put(t.Context(), key, bodies.Pack(raw)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		body inbox.Body
	}{
		{"from the bucket", inbox.Body{Key: key, Bytes: len(raw)}},
		{"from the event itself", inbox.Body{Packed: bodies.Pack(raw), Bytes: len(raw)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := b.Read(t.Context(), tc.body)
			if err != nil || !bytes.Equal(got, raw) {
				t.Fatalf("Read = %d bytes, %v", len(got), err)
			}
		})
	}
	if got, err := b.Read(t.Context(), inbox.Body{Key: "raw/evt_abcdefghijklmnop/none", Bytes: 1}); err == nil {
		t.Errorf("an absent body was read: %d bytes", len(got))
	}
}

// A conflicting delivery has the first one's event id: it must not replace the bytes that are worked on.
func TestKeysOfOneEventDifferByContent(t *testing.T) {
	first, second := bodies.Key("evt_abcdefghijklmnop", []byte("a")), bodies.Key("evt_abcdefghijklmnop", []byte("b"))
	if first == second {
		t.Errorf("both bodies go to %s", first)
	}
	for _, key := range []string{first, second} {
		if !strings.HasPrefix(key, "raw/evt_abcdefghijklmnop/") {
			t.Errorf("%s is not found below the event", key)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	raw := []byte(strings.Repeat(`{"id":794,"name":"Mug","price":"12.50","sku":"MUG-1"},`, 150))
	for b.Loop() {
		bodies.Pack(raw)
	}
}
