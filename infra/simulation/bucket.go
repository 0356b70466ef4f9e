package simulation

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"engang/shared/dynamo/dynamotest/invariants"
)

const (
	bucketName = "bodies"
	keyPrefix  = "raw/" // of every key, before its event
)

// A bucket is what S3 keeps of bodies: a key has the bytes that were put last, from the moment of the put on.
type bucket map[string][]byte

// inBucket tells whether a request is for the bucket: it names no operation of the table, and is not for the model.
func inBucket(r *http.Request) bool {
	return r.Header.Get("X-Amz-Target") == "" && r.URL.Host == engineHost
}

// keyIn is the key that a request is about; empty where it lists.
func keyIn(r *http.Request) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+bucketName), "/")
}

// shortKey is a key without what all have, and most of a digest.
func shortKey(key string) string {
	key = strings.TrimPrefix(key, keyPrefix)
	event, digest, _ := strings.Cut(key, "/")
	return fmt.Sprintf("%s/%.6s", event, digest)
}

// answer does what a request asks for.
func (b bucket) answer(q *sent) *http.Response {
	switch key := keyIn(q.Request); {
	case q.Method == http.MethodPut:
		b[key] = bytes.Clone(q.raw)
		return answerWith(q.Request, http.StatusOK, nil)
	case q.Method == http.MethodDelete:
		delete(b, key)
		return answerWith(q.Request, http.StatusNoContent, nil)
	case q.URL.Query().Has("list-type"):
		return answerWith(q.Request, http.StatusOK, b.list(q.URL.Query().Get("prefix")))
	default:
		if raw, ok := b[key]; ok {
			return answerWith(q.Request, http.StatusOK, raw)
		}
		return answerWith(q.Request, http.StatusNotFound, []byte(`<Error><Code>NoSuchKey</Code><Message>no</Message></Error>`))
	}
}

// under are the keys that begin so, in order.
func (b bucket) under(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

func (b bucket) list(prefix string) []byte {
	type content struct{ Key string }
	page := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []content
	}{}
	for _, key := range b.under(prefix) {
		page.Contents = append(page.Contents, content{key})
	}
	raw, err := xml.Marshal(page)
	if err != nil {
		panic(err) // made of texts
	}
	return raw
}

// askBucket is a call of the bucket.
func (w *world) askBucket(a *actor, q *sent) (*http.Response, error) {
	if a == nil || a.person && a.onlyReads(q) {
		return w.bucket.answer(q), nil
	}
	var answer *http.Response
	err := a.step(q.call, func() string {
		if q.Method == http.MethodPut {
			w.putBody(a, q)
		}
		answer = w.bucket.answer(q)
		if w.Forgetful {
			clear(w.bucket)
		}
		return fmt.Sprint(answer.StatusCode)
	})
	switch {
	case err == errThrottled:
		return answerWith(q.Request, http.StatusServiceUnavailable, []byte(`<Error><Code>SlowDown</Code><Message>too much</Message></Error>`)), nil
	case err != nil:
		return nil, err
	}
	return answer, nil
}

// A putting is the last put of a body.
type putting struct {
	at time.Duration
	by *actor
}

// putBody notes that a body is put. One that is there stays what it is: its key is made of its bytes.
func (w *world) putBody(a *actor, q *sent) {
	key := keyIn(q.Request)
	w.counts.Bodies++
	w.puts[key] = putting{w.clock, a}
	if before, there := w.bucket[key]; there && !bytes.Equal(before, q.raw) {
		w.violated("durable-ack: the body %s was replaced by another one", shortKey(key))
	}
}

// judgeBodies: the body that an event names is there, and is what was delivered; there is no other.
func (w *world) judgeBodies(all invariants.Items) {
	said := map[string][][]byte{} // by event
	for _, d := range w.scene.events() {
		said[string(d.wants())] = append(said[string(d.wants())], d.body, d.other, repeated(d.body), repeated(d.other))
	}
	for _, e := range all.Events() {
		if key := e["body"]; strings.HasPrefix(key, keyPrefix) {
			if _, there := w.bucket[key]; !there {
				w.violated("durable-ack: %s is stored, and its body is not in the bucket", strings.TrimPrefix(e["pk"], "E#"))
			}
		}
	}
	for _, key := range w.bucket.under("") {
		event, _, _ := strings.Cut(strings.TrimPrefix(key, keyPrefix), "/")
		text := unpacked(w.bucket[key])
		if !slices.ContainsFunc(said[event], func(body []byte) bool { return text == string(body) }) {
			w.violated("durable-ack: the body %s is not what was delivered", shortKey(key))
		}
	}
}
