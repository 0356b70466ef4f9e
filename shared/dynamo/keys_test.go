package dynamo_test

import (
	"fmt"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
)

// Key texts are stored: another text would make every stored item unfindable.
func TestKeysAreAsAgreed(t *testing.T) {
	scope := object.Scope{Tenant: "shop", Environment: "test"}
	k := operation.Key{Scope: scope, Object: object.ID{Kind: "product", Value: "7/9 4:x#é"}, Recipe: inbox.RecipeRef{Name: "product-card", Version: 3}, Digest: "9f2c"}
	same(t, "keys", map[string]string{
		"event":      "E#evt_abc / EVENT",
		"seen":       "E#evt_abc / SEEN",
		"conflict":   "E#evt_abc / CONFLICT#d2",
		"operation":  "B#shop#test#product:7%2F9%204%3Ax%23%C3%A9 / O#product-card@000003#9f2c",
		"losing":     "B#shop#test#product:7%2F9%204%3Ax%23%C3%A9 / O#product-card@000003#9f2c#LOST#att_1",
		"result":     "B#shop#test#product:7%2F9%204%3Ax%23%C3%A9 / R#product-card#000003",
		"address":    "C#hooks / woo-shop",
		"pointer":    "C#shop#test / POINTER",
		"version":    "C#shop#test / recipe#product-card#000003",
		"audit":      "A#shop#test#2026-11-29",
		"catch-up":   "K#catchup#shop#test / a%2Fb",
		"heard":      "K#last#shop#test / a%2Fb",
		"head":       "B#shop#test#product:7%2F9%204%3Ax%23%C3%A9 / H#product-card",
		"breaker":    "K#shop#test#open%20ai#gpt%235 / BREAKER",
		"pause":      "K#pause / model#shop#test#openai%2Fgpt-5",
		"everything": "K#pause / everything#shop#test#",
		"day":        "K#spend#shop#test#product-card / 2026-11-29",
		"minute":     "K#spend#shop#test#product-card / M#2026-11-29T12:00",
		"review":     "1795953600000#B#shop#test#product:7%2F9%204%3Ax%23%C3%A9#O#product-card@000003#9f2c",
	}, dynamo.KeyTexts("evt_abc", k, "woo-shop", noon))
}

func TestOperationKeysAreReadBack(t *testing.T) {
	for _, k := range []operation.Key{
		work,
		{Scope: object.Scope{Tenant: "a#b", Environment: "c d"}, Object: object.ID{Kind: "k", Value: "x:y#z/+%20é"}, Recipe: inbox.RecipeRef{Name: "r@#", Version: 1234567}, Digest: "d"},
	} {
		for _, attempt := range []operation.AttemptID{"", "att_7q2m"} {
			got, losing, err := dynamo.ReadBack(k, attempt)
			if err != nil || got != k || losing != attempt {
				t.Errorf("%+v %q became %+v %q, %v", k, attempt, got, losing, err)
			}
		}
	}
	for _, pair := range [][2]string{{"B#shop#test", "O#a@000001#d"}, {"B#shop#test#p:1", "O#a#d"}, {"B#shop#test#p:%zz", "O#a@000001#d"}, {"B#s#t#p:1", "O#a@x#d"}, {"B#s#t#p:1", "O#%zz@000001#d"}, {"", ""}} {
		if k, err := dynamo.ReadOperationKey(pair[0], pair[1]); err == nil {
			t.Errorf("%q was read as %+v", pair, k)
		}
	}
}

func TestPauseKeysAreReadBack(t *testing.T) {
	for _, target := range []pause.Target{
		{Scope: shop, Kind: pause.Everything},
		{Scope: object.Scope{Tenant: "a#b", Environment: "c d"}, Kind: pause.AModel, Name: "openai/gpt#5%20é"},
	} {
		if got, err := dynamo.PauseBack(target); err != nil || got != target {
			t.Errorf("%+v became %+v, %v", target, got, err)
		}
	}
	for _, sk := range []string{"", "recipe#shop#test", "recipe#shop#test#a#b", "recipe#shop#%zz#a"} {
		if target, err := dynamo.ReadPauseKey(sk); err == nil {
			t.Errorf("%q was read as %+v", sk, target)
		}
	}
}

// Shards share the load: no shard has twice its share of ten thousand events.
func TestShardsShareTheLoad(t *testing.T) {
	const all = 10_000
	open, list := map[string]int{}, map[string]int{}
	for n := range all {
		id := inbox.NewEventID(shop, "woo-shop", fmt.Sprint(n))
		o, l := dynamo.Shards(shop, noon, id)
		open[o]++
		list[l]++
	}
	if len(open) != dynamo.OpenShards || len(list) != 4 {
		t.Errorf("%d open shards, %d list shards", len(open), len(list))
	}
	for _, shares := range []map[string]int{open, list} {
		for shard, n := range shares {
			if share := all / len(shares); n > share*2 || n < share/2 {
				t.Errorf("shard %s has %d of %d", shard, n, all)
			}
		}
	}
	if o, l := dynamo.Shards(shop, noon, "evt_2345672345672345"); o != "open#7" || l != "shop#test#2026-11-29#2" {
		t.Errorf("an event of old is looked for in %s and %s", o, l)
	}
}
