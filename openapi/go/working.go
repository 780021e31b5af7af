package identity

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// working is a DID document of ours on which operations are carried out.
type working struct {
	methods []method
	// related has the ids of keys by relationship.
	related  map[string][]string
	services []service
	aliases  []string
	// contexts are those of its services that it lists.
	contexts []any
}

type method struct {
	id, kind, key string
	// revoked is the end of a grace period, empty if there is none.
	revoked string
}

type service struct{ id, kind, endpoint string }

// keyType has the context of a document with such keys, their multicodec, bytes of a raw key, and the purposes of a first key and of a later one.
type keyType struct {
	context, prefix    string
	size               int
	primary, secondary []string
}

const (
	bbsKey       = "Bls12381G2Key2020"
	ed25519Key   = "Ed25519VerificationKey2020"
	mostKeys     = 20
	mostServices = 20
	mostAliases  = 10
	mostOfURI    = 2048
	pchar        = "[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}"
	uriQuery     = `(?:` + pchar + `|\?)*`
	didcomm      = "https://didcomm.org/messaging/contexts/v2"
)

var (
	signing       = []string{"authentication", "assertionMethod", "capabilityInvocation", "capabilityDelegation"}
	relationships = []string{"authentication", "assertionMethod", "keyAgreement", "capabilityInvocation", "capabilityDelegation"}
	assertion     = []string{"assertionMethod"}
	agreement     = []string{"keyAgreement"}
	// In the order in which a document lists their contexts.
	typeNames = []string{ed25519Key, "X25519KeyAgreementKey2020", bbsKey, "EcdsaSecp256r1VerificationKey2019"}
	keyTypes  = map[string]keyType{
		typeNames[0]: {"ed25519-2020", publicPrefix, 32, signing, signing[:1]},
		typeNames[1]: {"x25519-2020", "\xec\x01", 32, agreement, agreement},
		typeNames[2]: {"bls12381-2020", "\xeb\x01", 96, assertion, assertion},
		typeNames[3]: {"ecdsa-2019", "\x80\x24", 33, assertion, assertion},
	}
	// By type of service, in the order in which a document lists them. Logs of before the others were known have DIDComm's alone.
	serviceContexts = [][2]string{
		{"DIDCommMessaging", didcomm},
		{"LinkedDomains", "https://identity.foundation/.well-known/did-configuration/v1"},
		{"LinkedVerifiablePresentation", "https://identity.foundation/linked-vp/contexts/v1"},
	}
	fragmentText = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,64}$`)
	termText     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~:/#?=&%+-]{0,255}$`)
	uriText      = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]{0,31}):(//[^/?#]*)?((?:` + pchar + `)*(?:\?` + uriQuery + `)?(?:#` + uriQuery + `)?)$`)
	hostText     = regexp.MustCompile(`^(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::([0-9]{1,5}))?$`)
	withHost     = []string{"http", "https", "ws", "wss", "ftp", "ftps"}
	// Schemes that a browser runs, or that mean the reader's own machine.
	refusedSchemes = []string{
		"javascript", "vbscript", "livescript", "data", "blob", "file", "filesystem", "jar", "about", "view-source",
	}
)

// readWorking reads a document. Its json shows whether it has our form.
func readWorking(document object, did string) *working {
	found := &working{related: map[string][]string{}}
	items := func(name string) []any {
		if !has(document, name) {
			return nil
		}
		return list(document[name])
	}
	for _, one := range items("verificationMethod") {
		said := record(one)
		key := text(said["publicKeyMultibase"])
		demand(said["id"] == did+"#"+key, "the fragment of a key's id is not its key")
		var purposes []string
		for _, name := range relationships {
			if has(document, name) && contains(texts(document[name]), did+"#"+key) {
				purposes = append(purposes, name)
			}
		}
		found.add(did, text(said["type"]), key, purposes, "")
	}
	for _, one := range items("service") {
		said := record(one)
		found.services = append(found.services, service{text(said["id"]), text(said["type"]), text(said["serviceEndpoint"])})
	}
	if has(document, "alsoKnownAs") {
		found.aliases = texts(document["alsoKnownAs"])
	}
	found.list(document)
	return found
}

// typeOf is a type of keys by its name in requests.
func typeOf(name string) string {
	if name == "Ed25519" {
		return ed25519Key
	}
	return name
}

func (w *working) copy() *working { return w.without(func(method) bool { return false }) }

// without is a copy without some keys.
func (w *working) without(gone func(method) bool) *working {
	left := &working{
		append([]method(nil), w.methods...), map[string][]string{}, append([]service(nil), w.services...), append([]string(nil), w.aliases...),
		w.contexts,
	}
	for name, ids := range w.related {
		left.related[name] = append([]string(nil), ids...)
	}
	for _, one := range w.methods {
		if gone(one) {
			left.remove(one.id)
		}
	}
	return left
}

// list has it list the contexts of its services that the document before did, or that document, which its entry has, does.
func (w *working) list(document object) {
	said, _ := document["@context"].([]any)
	known, used := append(append([]any{didcomm}, w.contexts...), said...), []any{}
	for _, one := range serviceContexts {
		isUsed, isKnown := false, false
		for _, each := range w.services {
			isUsed = isUsed || each.kind == one[0]
		}
		for _, each := range known {
			isKnown = isKnown || each == one[1]
		}
		if isUsed && isKnown {
			used = append(used, one[1])
		}
	}
	w.contexts = used
}

func (w *working) json(did string) object {
	contexts, methods, services := []any{"https://www.w3.org/ns/did/v1"}, []any{}, []any{}
	for _, name := range typeNames {
		for _, one := range w.methods {
			if one.kind == name {
				contexts = append(contexts, "https://w3id.org/security/suites/"+keyTypes[name].context+"/v1")
				break
			}
		}
	}
	for _, one := range w.methods {
		made := object{"id": one.id, "type": one.kind, "controller": did, "publicKeyMultibase": one.key}
		if one.revoked != "" {
			made["revoked"] = one.revoked
		}
		methods = append(methods, made)
	}
	for _, one := range w.services {
		services = append(services, object{"id": one.id, "type": one.kind, "serviceEndpoint": one.endpoint})
	}
	made := object{"@context": append(contexts, w.contexts...), "id": did, "controller": did}
	if len(w.aliases) > 0 {
		made["alsoKnownAs"] = w.aliases
	}
	if len(methods) > 0 {
		made["verificationMethod"] = methods
	}
	for name, ids := range w.related {
		if len(ids) > 0 {
			made[name] = ids
		}
	}
	if len(services) > 0 {
		made["service"] = services
	}
	return made
}

func (w *working) has(key string) bool {
	for _, one := range w.methods {
		if one.key == key {
			return true
		}
	}
	return false
}

// method is the one of an id, to be changed in its place.
func (w *working) method(id string) *method {
	place := w.place(id)
	demand(place != -1, "the document has no such key")
	return &w.methods[place]
}

func (w *working) place(id string) int {
	for place, one := range w.methods {
		if one.id == id {
			return place
		}
	}
	return -1
}

func (w *working) purposes(id string) []string {
	var found []string
	for _, name := range relationships {
		if contains(w.related[name], id) {
			found = append(found, name)
		}
	}
	return found
}

// due is when the next grace period ends, where there is one.
func (w *working) due() (first time.Time, isDue bool) {
	for _, one := range w.methods {
		if one.revoked == "" {
			continue
		}
		if end := instantOf(one.revoked); !isDue || end.Before(first) {
			first, isDue = end, true
		}
	}
	return first, isDue
}

func (w *working) mayAuthenticate(key, did string, at time.Time) bool {
	for _, one := range w.methods {
		if one.key == key {
			return contains(w.related["authentication"], did+"#"+key) && (one.revoked == "" || at.Before(instantOf(one.revoked)))
		}
	}
	return false
}

// check has the rules of a document: how much of each there may be, keys of their types, endpoints that are harmless.
func (w *working) check(did string) {
	isShort := len(w.methods) <= mostKeys && len(w.services) <= mostServices && len(w.aliases) <= mostAliases
	demand(isShort, "the document has too many entries")
	seen := map[string]bool{}
	alone := func(id string) {
		demand(!seen[id], "the document has something twice")
		seen[id] = true
	}
	for _, one := range w.methods {
		alone(one.id)
		kind, isKnown := keyTypes[one.kind]
		demand(isKnown, "a key is of an unknown type")
		// Whether one of another type than Ed25519 is a point of its curve is not computed here.
		taken(multikey(one.key, kind.prefix, kind.size))
		demand(one.kind != ed25519Key || isPublicKey(one.key), "a key is one under which anybody signs")
	}
	for _, one := range w.services {
		alone(one.id)
		isFragment := strings.HasPrefix(one.id, did+"#") && fragmentText.MatchString(one.id[len(did)+1:])
		demand(isFragment, "the id of a service is not a fragment of the DID")
		demand(termText.MatchString(one.kind), "the type of a service is not a term")
		checkURI(one.endpoint)
	}
	seen = map[string]bool{}
	for _, one := range w.aliases {
		alone(one)
		checkURI(one)
	}
}

// checkControlled: the DID must still have a controller; a key in grace does not count.
func (w *working) checkControlled() {
	for _, one := range w.methods {
		if one.revoked == "" && contains(w.related["authentication"], one.id) {
			return
		}
	}
	demand(false, "the document has no key for authentication")
}

// add puts a key before another, or at the end.
func (w *working) add(did, name, key string, purposes []string, before string) {
	kind := typeOf(name)
	isKnown := len(purposes) > 0 && !w.has(key)
	for place, purpose := range purposes {
		isKnown = isKnown && contains(keyTypes[kind].primary, purpose) && !contains(purposes[:place], purpose)
	}
	demand(isKnown, "the key is there already, of an unknown type, or cannot serve these purposes")
	added := method{id: did + "#" + key, kind: kind, key: key}
	w.methods = insert(w.methods, added, w.place(before))
	for _, name := range purposes {
		found := -1
		for place, id := range w.related[name] {
			if id == before {
				found = place
			}
		}
		w.related[name] = insert(w.related[name], added.id, found)
	}
}

// insert puts an item at a place, or at the end where that is -1.
func insert[T any](items []T, item T, place int) []T {
	if place == -1 {
		return append(items, item)
	}
	return append(append(append([]T(nil), items[:place]...), item), items[place:]...)
}

func (w *working) remove(id string) {
	place := w.place(id)
	demand(place != -1, "the document has no such key")
	w.methods = append(w.methods[:place:place], w.methods[place+1:]...)
	for name, ids := range w.related {
		var left []string
		for _, one := range ids {
			if one != id {
				left = append(left, one)
			}
		}
		w.related[name] = left
	}
}

// checkURI takes an absolute ASCII URI without credentials, and of no scheme that runs code or reads local files.
func checkURI(uri string) {
	parts := uriText.FindStringSubmatch(uri)
	demand(parts != nil && len(uri) <= mostOfURI, "an address is not a URI")
	scheme, authority := strings.ToLower(parts[1]), parts[2]
	demand(!contains(refusedSchemes, scheme), "an address is of a scheme that is not allowed")
	if len(authority) > len("//") {
		host := hostText.FindStringSubmatch(authority[len("//"):])
		demand(host != nil, "an address has a malformed host, or credentials")
		port, _ := strconv.Atoi("0" + host[1])
		demand(port <= 65_535, "an address has a malformed port")
		return
	}
	demand(!contains(withHost, scheme) && (authority != "" || parts[3] != ""), "an address names no host")
}
