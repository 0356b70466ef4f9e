package dynamo

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
)

// OpenShards is how many hash keys the open index spreads its events over: one takes about 1,000
// writes a second. Lowering it would lose events that are open at that moment.
const OpenShards = 8

// listShards is the same for one day of the list index.
const listShards = 4

// The prefixes and fixed parts of keys.
const (
	eventPrefix     = "E#"
	objectPrefix    = "B#"
	configPrefix    = "C#"
	auditPrefix     = "A#"
	holdPrefix      = "K#"
	eventSort       = "EVENT"
	seenSort        = "SEEN"
	conflictPrefix  = "CONFLICT#"
	operationPrefix = "O#"
	losingInfix     = "#LOST#"
	resultPrefix    = "R#"
	headPrefix      = "H#"
	breakerSort     = "BREAKER"
	pauseHash       = holdPrefix + "pause"
	spendPrefix     = holdPrefix + "spend#"
	minutePrefix    = "M#"
	catchUpPrefix   = holdPrefix + "catchup#"
	heardPrefix     = holdPrefix + "last#"
	pointerSort     = "POINTER"
	addressHash     = configPrefix + "hooks"
	openPrefix      = "open#"
	review          = "review" // hash key in the open index of what waits for a person
)

// A key names one item.
type key struct{ pk, sk string }

func (k key) item() item { return item{"pk": str(k.pk), "sk": str(k.sk)} }

// reading is the call name of a read of the item.
func (k key) reading() string {
	switch {
	case strings.HasPrefix(k.pk, eventPrefix):
		return "read event"
	case strings.HasPrefix(k.pk, configPrefix):
		return "read config"
	case strings.HasPrefix(k.sk, resultPrefix):
		return "read result"
	case strings.HasPrefix(k.sk, headPrefix):
		return "read head"
	case k.pk == pauseHash:
		return "read pauses"
	case k.sk == breakerSort:
		return "read breaker"
	case strings.HasPrefix(k.pk, spendPrefix):
		return "read spend"
	case strings.HasPrefix(k.pk, catchUpPrefix):
		return "read catch-up"
	case strings.HasPrefix(k.pk, heardPrefix):
		return "read last delivery"
	}
	return "read operation"
}

// encode makes a part of a key: everything but letters, digits and "-_.~" is percent-encoded, so that no
// part can hold a separator.
func encode(part string) string { return strings.ReplaceAll(url.QueryEscape(part), "+", "%20") }

func eventKey(id inbox.EventID) key { return key{eventPrefix + string(id), eventSort} }

func seenKey(id inbox.EventID) key { return key{eventPrefix + string(id), seenSort} }

func conflictKey(id inbox.EventID, digest string) key {
	return key{eventPrefix + string(id), conflictPrefix + digest}
}

func scopeHash(prefix string, s object.Scope) string {
	return prefix + encode(s.Tenant) + "#" + encode(s.Environment)
}

func objectHash(s object.Scope, id object.ID) string {
	return scopeHash(objectPrefix, s) + "#" + encode(id.Kind) + ":" + encode(id.Value)
}

func operationKey(k operation.Key) key {
	return key{objectHash(k.Scope, k.Object), operationSort(k)}
}

func operationSort(k operation.Key) string {
	return fmt.Sprintf("%s%s@%06d#%s", operationPrefix, encode(k.Recipe.Name), k.Recipe.Version, k.Digest)
}

func losingKey(k operation.Key, attempt operation.AttemptID) key {
	return key{objectHash(k.Scope, k.Object), operationSort(k) + losingInfix + string(attempt)}
}

func resultKey(s object.Scope, id object.ID, ref inbox.RecipeRef) key {
	return key{objectHash(s, id), fmt.Sprintf("%s%s#%06d", resultPrefix, encode(ref.Name), ref.Version)}
}

func headKey(s object.Scope, id object.ID, recipe string) key {
	return key{objectHash(s, id), headPrefix + encode(recipe)}
}

func breakerKey(m pause.Model) key {
	return key{scopeHash(holdPrefix, m.Scope) + "#" + encode(m.Provider) + "#" + encode(m.Name), breakerSort}
}

func pauseKey(t pause.Target) key {
	return key{pauseHash, encode(string(t.Kind)) + "#" + scopeHash("", t.Scope) + "#" + encode(t.Name)}
}

// readPauseKey reads what is paused from a sort key.
func readPauseKey(sk string) (t pause.Target, err error) {
	parts := strings.Split(sk, "#")
	if len(parts) != 4 {
		return t, fmt.Errorf("sort key %q is no pause", sk)
	}
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return t, fmt.Errorf("sort key %q is no pause: %w", sk, err)
		}
	}
	return pause.Target{Kind: pause.Kind(parts[0]), Scope: object.Scope{Tenant: parts[1], Environment: parts[2]}, Name: parts[3]}, nil
}

func spendHash(s object.Scope, recipe string) string {
	return scopeHash(spendPrefix, s) + "#" + encode(recipe)
}

// dayKey and minuteKey are one item each: a shard each would split a small limit.
func dayKey(s object.Scope, recipe, day string) key { return key{spendHash(s, recipe), day} }

func minuteKey(s object.Scope, recipe, minute string) key {
	return key{spendHash(s, recipe), minutePrefix + minute}
}

func catchUpKey(s object.Scope, endpoint string) key {
	return key{scopeHash(catchUpPrefix, s), encode(endpoint)}
}

func heardKey(s object.Scope, endpoint string) key {
	return key{scopeHash(heardPrefix, s), encode(endpoint)}
}

func addressKey(endpoint string) key { return key{addressHash, encode(endpoint)} }

func pointerKey(s object.Scope) key { return key{scopeHash(configPrefix, s), pointerSort} }

func versionKey(v config.Version) key {
	return key{scopeHash(configPrefix, v.Scope), fmt.Sprintf("%s#%s#%06d", encode(v.Kind), encode(v.Name), v.Version)}
}

func auditHash(s object.Scope, day time.Time) string {
	return scopeHash(auditPrefix, s) + "#" + dayText(day)
}

func dayText(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// stamp is a range key that sorts by time and is unique by what follows.
func stamp(t time.Time, unique string) string { return fmt.Sprintf("%013d#%s", t.UnixMilli(), unique) }

// stamped takes a range key apart again.
func stamped(text string) (time.Time, string, error) {
	ms, unique, _ := strings.Cut(text, "#")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}, "", fmt.Errorf("range key is not time#id: %w", err)
	}
	return time.UnixMilli(n).UTC(), unique, nil
}

func spread(id inbox.EventID) uint32 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return h.Sum32()
}

func openShard(n int) string { return openPrefix + strconv.Itoa(n) }

func openHash(id inbox.EventID) string { return openShard(int(spread(id) % OpenShards)) }

func listShard(s object.Scope, day time.Time, n int) string {
	return scopeHash("", s) + "#" + dayText(day) + "#" + strconv.Itoa(n)
}

func listHash(s object.Scope, received time.Time, id inbox.EventID) string {
	return listShard(s, received, int(spread(id)/OpenShards%listShards))
}

// readOperationKey reads the key of an operation, and the attempt of a losing one.
func readOperationKey(pk, sk string) (k operation.Key, losing operation.AttemptID, err error) {
	if k.Scope, k.Object, err = readObjectHash(pk); err != nil {
		return operation.Key{}, "", err
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(sk, operationPrefix), "@")
	version, digest, ok := strings.Cut(rest, "#")
	if k.Recipe, err = readRecipe(name, version); err != nil || !ok {
		return operation.Key{}, "", fmt.Errorf("sort key %q is no operation", sk)
	}
	digest, attempt, _ := strings.Cut(digest, losingInfix)
	k.Digest = digest
	return k, operation.AttemptID(attempt), nil
}

func readObjectHash(pk string) (object.Scope, object.ID, error) {
	parts := strings.Split(strings.TrimPrefix(pk, objectPrefix), "#")
	if len(parts) != 3 {
		return object.Scope{}, object.ID{}, fmt.Errorf("hash key %q is no object", pk)
	}
	kind, value, _ := strings.Cut(parts[2], ":")
	plain := make([]string, 0, 4)
	for _, part := range []string{parts[0], parts[1], kind, value} {
		text, err := url.PathUnescape(part)
		if err != nil {
			return object.Scope{}, object.ID{}, fmt.Errorf("hash key %q is no object: %w", pk, err)
		}
		plain = append(plain, text)
	}
	return object.Scope{Tenant: plain[0], Environment: plain[1]}, object.ID{Kind: plain[2], Value: plain[3]}, nil
}

func readRecipe(name, version string) (inbox.RecipeRef, error) {
	plain, err := url.PathUnescape(name)
	if err != nil {
		return inbox.RecipeRef{}, fmt.Errorf("read recipe name: %w", err)
	}
	n, err := strconv.Atoi(version)
	if err != nil {
		return inbox.RecipeRef{}, fmt.Errorf("read recipe version: %w", err)
	}
	return inbox.RecipeRef{Name: plain, Version: n}, nil
}
