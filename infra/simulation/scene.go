package simulation

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

const (
	endpointName = "shop"
	eventType    = "product.updated"
	modelName    = "gpt-5.4-mini-2026-03-17"
)

var scope = object.Scope{Tenant: "shop", Environment: "test"}

// A scene is what a seed has senders and people do.
type scene struct {
	busy       time.Duration // how long they do
	moody      int           // calls of the model in a thousand that go wrong
	policies   map[string]recipe.Policy
	quiet      int // seconds, of the first recipe
	limits     recipe.Limits
	crowded    bool // many at one piece of work, and workers that stall in it until their lease is over
	wrong      bool // clocks are off by more than is allowed for: that may cost a call, never a wrong write
	bulky      bool // half of the bodies are too big for an item
	deliveries []delivery
	acts       []time.Duration
	erasures   []erasure
	expires    bool            // it lasts for days, and things are kept for one or two
	storms     []time.Duration // when there are faults again
	passes     []time.Duration // when what is expired leaves
}

// A delivery is an event as its sender has it, and when it sends it.
type delivery struct {
	name     string // "e1.3"
	endpoint string
	object   string // "product:1"; empty where it holds several events
	event    string // its id as the sender names it
	key      string // by which it is known again
	body     []byte
	times    []time.Duration
	retries  bool // the sender comes again where it was refused
	other    []byte
	parts    []delivery
	flawed   bool // it holds something, too, that is no event
}

// scene throws what happens.
func (d dice) scene() scene {
	s := scene{
		busy:     []time.Duration{30 * time.Second, 3 * time.Minute, 15 * time.Minute}[d.below(3, "busy", 0)],
		moody:    []int{0, 100, 300}[d.below(3, "moody", 0)],
		policies: map[string]recipe.Policy{"card": recipe.PolicyAuto},
	}
	switch d.below(4, "recipes", 0) {
	case 0:
		s.policies["card"] = recipe.PolicyDraft
	case 1:
		s.policies["note"] = recipe.PolicyDraft
	case 2:
		s.policies["note"] = recipe.PolicyAuto
	}
	if d.chance(200, "quiet", 0) {
		s.quiet = 20
	}
	switch d.below(8, "limits", 0) {
	case 0:
		s.limits.PerMinute = 2
	case 1:
		s.limits.USDPerDay = 2_000_000_000 // about five calls
	}
	s.wrong, s.bulky = d.chance(100, "wrong clocks", 0), d.chance(250, "bulky", 0)
	objects, contents := 1+d.below(3, "objects", 0), 3
	if s.crowded = d.chance(250, "crowded", 0); s.crowded {
		objects, contents, s.busy, s.moody = 1, 1+d.below(2, "contents", 0), 3*time.Minute, s.moody/3
	}
	for o := range objects {
		d.object(&s, o+1, contents)
	}
	for i := range d.below(9, "acts", 0) {
		s.acts = append(s.acts, d.between(0, s.busy+2*time.Minute, "act at", i))
	}
	if d.chance(250, "batches", 0) {
		d.batches(&s, contents)
	}
	switch {
	case d.chance(150, "expires", 0):
		d.expiring(&s, contents)
	case !s.wrong && d.chance(300, "erased", 0): // how long something may be under way is told by the clock
		d.erased(&s, contents)
	}
	return s
}

// A version is one state of an object, as its source has it.
type version struct {
	name  string // "1.3"
	at    time.Time
	nth   int // of its object
	among int // contents
	bulky bool
}

// bulk is how much noise makes a body too big for its event, packed too.
const bulk = 26_000

// object throws the versions of an object: contents that come back, two versions of one second, what comes late, out
// of order and again.
func (d dice) object(s *scene, o, contents int) {
	who := fmt.Sprintf("object %d", o)
	v := version{at: noon.Add(-time.Hour), among: contents, bulky: s.bulky}
	for v.nth = range 1 + d.below(5, who, 0) {
		if !d.chance(200, who+" tie", v.nth) {
			v.at = v.at.Add(time.Duration(1+d.below(90, who+" version", v.nth)) * time.Second)
		}
		v.name = fmt.Sprintf("%d.%d", o, v.nth+1)
		one := d.delivery(o, v)
		at := d.between(0, s.busy, who+" at", v.nth)
		one.times = []time.Duration{at}
		for again := range d.below(4, who+" again", v.nth) {
			one.times = append(one.times, at+d.between(0, s.busy, one.name+" again at", again))
		}
		if d.chance(100, who+" late", v.nth) {
			one.times = append(one.times, at+time.Hour)
		}
		s.deliveries = append(s.deliveries, one)
	}
}

// delivery throws what the sender says of a version.
func (d dice) delivery(o int, v version) delivery {
	who := fmt.Sprintf("object %d", o)
	one := delivery{
		name: "e" + v.name, endpoint: endpointName, object: fmt.Sprintf("product:%d", o), event: "msg_" + strings.ReplaceAll(v.name, ".", "_"),
		retries: !d.chance(150, who+" never again", v.nth),
	}
	one.key = one.event
	data := map[string]any{"id": fmt.Sprint(o), "name": string(rune('A' + d.below(v.among, who+" content", v.nth))), "version": v.at.Format(time.RFC3339), "note": one.mark()}
	if d.chance(40, who+" without a name", v.nth) {
		delete(data, "name")
	}
	if v.bulky && d.chance(500, who+" bulky", v.nth) {
		data["text"] = d.noise(one.name, bulk)
	}
	one.body = body(data)
	if d.chance(80, who+" conflict", v.nth) {
		data["name"] = "X"
		one.other = body(data)
	}
	return one
}

// mark is a text that nothing but this event's bodies has. No recipe asks for it.
func (d delivery) mark() string { return "the mark of " + d.name + "." }

func body(data map[string]any) []byte {
	b, err := json.Marshal(map[string]any{"type": eventType, "timestamp": noon.Format(time.RFC3339), "data": data})
	if err != nil {
		panic(err) // made of texts
	}
	return b
}

func at(text string) *document.Pointer {
	p, err := document.ParsePointer(text)
	if err != nil {
		panic(err) // written here
	}
	return &p
}

// settings is the configuration that the scene begins with.
func (w *world) settings() config.Set {
	s := w.scene
	set := config.Set{Scope: scope, Common: config.Common{EventDays: eventDays, ResultDays: resultDays, Providers: map[string]config.Provider{"openai": {
		APIKey: "ssm:models/openai", BaseURL: "https://model.invalid/v1", Prices: map[string]operation.Price{
			modelName: {Input: 400_000, Cached: 40_000, CacheWrite: 400_000, Output: 1_600_000, AsOf: "2026-11-29"},
		},
	}}}}
	if s.expires && !w.Early {
		set.Common.EventDays, set.Common.ResultDays = shortEventDays, shortResultDays
	}
	rule := config.EventRule{Object: &config.ObjectRule{Kind: "product", ID: *at("/data/id")}, Version: at("/data/version")}
	for _, name := range []string{"card", "note"} {
		if s.policies[name] != "" {
			rule.Recipes = append(rule.Recipes, name)
			set.Recipes = append(set.Recipes, s.recipe(name, 1))
		}
	}
	crm := rule
	crm.Object, crm.Version = nil, nil // as the sender has them
	set.Endpoints = []config.Endpoint{{
		Name: crmName, Scope: scope, Provider: provider, PublicURL: crmURL, Secrets: []secrets.Ref{"ssm:hooks/crm/1"}, Events: map[string]config.EventRule{crmType: crm},
	}, {Name: endpointName, Scope: scope, Provider: "standard-webhooks", Secrets: []secrets.Ref{"ssm:hooks/shop/1"}, Events: map[string]config.EventRule{eventType: rule}}}
	return set
}

// recipe is one version of a recipe.
func (s scene) recipe(name string, version int) recipe.Recipe {
	r := recipe.Recipe{
		Name: name, Version: version, Policy: s.policies[name],
		Input:        recipe.Fields{Fields: map[string]recipe.Field{"id": {From: at("/data/id")}, "name": {From: at("/data/name")}}, Required: []string{"name"}},
		Model:        recipe.Model{Provider: "openai", Name: modelName, Mode: "direct", Options: recipe.Options{MaxOutputTokens: 200}},
		Instructions: fmt.Sprintf("Write a %s, version %d.", name, version),
		Output: recipe.Output{Name: "summary", Schema: json.RawMessage(
			`{"type":"object","additionalProperties":false,"required":["summary"],"properties":{"summary":{"type":"string"}}}`)},
		Limits: s.limits,
		Checks: []recipe.Check{{Path: *at("/summary"), Length: &[2]int{1, 80}}},
	}
	if name == "card" {
		r.QuietSeconds = s.quiet
	}
	return r
}
