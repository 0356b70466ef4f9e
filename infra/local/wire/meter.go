package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// A Meter computes what DynamoDB bills for a call, from the items before and after it and by the
// published rules, because no local engine bills. It needs the table's keys and indexes, and a way to
// read an item past the wire.
//
// Reads of the meter and the call are not one step: the numbers are right only while nobody else
// writes to the same item.
type Meter struct {
	Keys    []string   // of the table
	Indexes [][]string // key attributes of each index; projections are keys only
	Ask     bool       // also ask the engine what the call consumed ([Done].Capacity)
	Item    func(table string, key map[string]json.RawMessage) map[string]json.RawMessage

	rests atomic.Bool
}

// Rest lets the meter compute nothing for a while, or work again. A nil meter rests always.
func (m *Meter) Rest(now bool) {
	if m != nil {
		m.rests.Store(now)
	}
}

type write struct {
	table string
	key   map[string]json.RawMessage
	old   map[string]json.RawMessage
}

type measured struct {
	meter    *Meter
	writes   []write
	factor   float64 // 2 in a transaction
	read     *write
	strongly bool
}

// before reads the items that the call is about. It leaves the request as it was.
func (m *Meter) before(c Call, r *http.Request) *measured {
	if m == nil || m.rests.Load() || c.Service != "dynamodb" || r.Body == nil {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in request
	if json.Unmarshal(raw, &in) != nil {
		return nil
	}
	if m.Ask && action != "CreateTable" {
		ask(r, raw)
	}
	got := &measured{meter: m, factor: 1}
	switch action {
	case "PutItem", "UpdateItem", "DeleteItem":
		got.writes = append(got.writes, m.look(in))
	case "TransactWriteItems":
		got.factor = 2
		for _, part := range in.TransactItems {
			for _, one := range part {
				got.writes = append(got.writes, m.look(one))
			}
		}
	case "GetItem":
		w := m.look(in)
		got.read, got.strongly = &w, in.ConsistentRead
	}
	return got
}

// ask has the engine say what the call consumed. The signature does not fit the body any more, which
// local engines do not check.
func ask(r *http.Request, raw []byte) {
	more := bytes.Replace(raw, []byte("{"), []byte(`{"ReturnConsumedCapacity":"TOTAL",`), 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(more)), int64(len(more))
	r.Header.Set("Content-Length", strconv.Itoa(len(more)))
}

// consumed reads what the engine says that a call consumed: one sum, or one for each table.
func consumed(answer []byte) (sum float64) {
	var out struct{ ConsumedCapacity json.RawMessage }
	type capacity struct{ CapacityUnits float64 }
	if json.Unmarshal(answer, &out) != nil || len(out.ConsumedCapacity) == 0 {
		return 0
	}
	var one capacity
	if json.Unmarshal(out.ConsumedCapacity, &one) == nil {
		return one.CapacityUnits
	}
	var all []capacity
	_ = json.Unmarshal(out.ConsumedCapacity, &all)
	for _, c := range all {
		sum += c.CapacityUnits
	}
	return sum
}

type request struct {
	TableName      string
	Key            map[string]json.RawMessage
	Item           map[string]json.RawMessage
	ConsistentRead bool
	TransactItems  []map[string]request
}

func (m *Meter) look(in request) write {
	key := in.Key
	if key == nil {
		key = map[string]json.RawMessage{}
		for _, k := range m.Keys {
			key[k] = in.Item[k]
		}
	}
	return write{table: in.TableName, key: key, old: m.Item(in.TableName, key)}
}

// after adds what the call cost. A refused conditional write is billed too, by the item that stands.
func (m *measured) after(d *Done, answer []byte) {
	if m == nil {
		return
	}
	d.Capacity = consumed(answer)
	for _, w := range m.writes {
		now := m.meter.Item(w.table, w.key)
		d.ItemBytes = max(d.ItemBytes, size(now))
		d.WriteUnits += m.factor * (units(max(size(w.old), size(now)), 1024) + m.meter.indexUnits(w.old, now))
	}
	if m.read != nil {
		d.ReadUnits = units(size(m.read.old), 4096)
		if !m.strongly {
			d.ReadUnits /= 2
		}
	}
}

// indexUnits: an entry that appears or goes is one write, one that moves is two, one that stays is none.
func (m *Meter) indexUnits(old, now map[string]json.RawMessage) float64 {
	var sum float64
	for _, keys := range m.Indexes {
		was, is := entry(old, keys), entry(now, keys)
		switch {
		case was == is:
		case was != "" && is != "":
			sum += 2
		default:
			sum++
		}
	}
	return sum
}

func entry(item map[string]json.RawMessage, keys []string) string {
	var parts []string
	for _, k := range keys {
		v, ok := item[k]
		if !ok {
			return ""
		}
		parts = append(parts, string(v))
	}
	return strings.Join(parts, " ")
}

func units(bytes int, each float64) float64 { return max(1, math.Ceil(float64(bytes)/each)) }

// size is the size of an item as DynamoDB counts it: names and values; a number of n digits is about
// n/2 + 1 bytes, a list or map 3 and 1 for each element.
func size(item map[string]json.RawMessage) int {
	sum := 0
	for name, v := range item {
		sum += len(name) + valueSize(v)
	}
	return sum
}

func valueSize(raw json.RawMessage) int {
	var typed map[string]json.RawMessage
	if json.Unmarshal(raw, &typed) != nil {
		return 0
	}
	for typ, v := range typed {
		switch typ {
		case "S", "N", "B":
			var s string
			_ = json.Unmarshal(v, &s)
			return scalarSize(typ, s)
		case "SS", "NS", "BS":
			var list []string
			_ = json.Unmarshal(v, &list)
			sum := 0
			for _, s := range list {
				sum += scalarSize(typ[:1], s)
			}
			return sum
		case "L":
			var list []json.RawMessage
			_ = json.Unmarshal(v, &list)
			sum := 3
			for _, e := range list {
				sum += 1 + valueSize(e)
			}
			return sum
		case "M":
			var m map[string]json.RawMessage
			_ = json.Unmarshal(v, &m)
			return 3 + len(m) + size(m)
		}
	}
	return 1 // BOOL, NULL
}

func scalarSize(typ, s string) int {
	switch typ {
	case "N":
		return (len(strings.Trim(s, "-0."))+1)/2 + 1
	case "B":
		b, _ := base64.StdEncoding.DecodeString(s)
		return len(b)
	}
	return len(s)
}
