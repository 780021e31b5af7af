package identity

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	notPlain    = regexp.MustCompile(`[^a-z0-9]+`)
	stepMembers = map[string]string{
		"addService": "operation,service", "updateService": "operation,service", "removeService": "operation,serviceId",
		"addVerificationMethod": "operation,verificationMethod", "removeVerificationMethod": "keyId,operation",
		"setAlsoKnownAs": "alsoKnownAs,operation", "setStrictEvidence": "operation,strictEvidence",
	}
)

// apply executes an operation of updateDid from a body, or from an entry without one.
func (w *working) apply(step object, did string, isNew func(string) bool, isBody bool) {
	operation := text(step["operation"])
	var left []string
	if isBody && operation == "addVerificationMethod" {
		left = []string{"relationships"}
	}
	isKnown := stepMembers[operation] != "" && stepMembers[operation] == members(step, left...)
	demand(isKnown, "an operation is unknown, or has other members")
	switch operation {
	case "addService", "updateService":
		said := w.serviceOf(record(step["service"]), did, isBody)
		place := w.servicePlace(said.id)
		isAdded := operation == "addService"
		demand(isAdded || has(record(step["service"]), "id"), "the document has no such service")
		demand((place == -1) == isAdded, "the document has this service already, or has no such service")
		if isAdded {
			w.services = append(w.services, said)
		} else {
			w.services[place] = said
		}
	case "removeService":
		place := w.servicePlace(did + "#" + named(text(step["serviceId"]), did, isBody))
		demand(place != -1, "the document has no such service")
		w.services = append(w.services[:place:place], w.services[place+1:]...)
	case "removeVerificationMethod":
		id := text(step["keyId"])
		if isBody && strings.HasPrefix(id, "#") {
			id = did + id
		}
		w.remove(id)
	case "setAlsoKnownAs":
		w.aliases = nil
		for _, one := range list(step["alsoKnownAs"]) {
			w.aliases = append(w.aliases, text(one))
		}
	case "setStrictEvidence":
		// It is in the entry, not in the document.
		demand(isBody && step["strictEvidence"] == true, "strictEvidence is asked for by a body, and is never turned off")
	default:
		w.addMethod(step, did, isNew, isBody)
	}
}

func (w *working) addMethod(step object, did string, isNew func(string) bool, isBody bool) {
	said := record(step["verificationMethod"])
	kind, key, asked := text(said["type"]), text(said["publicKeyMultibase"]), said["purposes"]
	demand(isBody || members(said) == "publicKeyMultibase,purposes,type", "a key has other members")
	if isBody {
		asked = []any{}
	}
	if has(step, "relationships") {
		asked = step["relationships"]
	}
	purposes := texts(asked)
	demand(isNew(key), "the key is or has been one of this DID")
	if len(purposes) == 0 && isBody {
		purposes = keyTypes[typeOf(kind)].secondary
	}
	w.add(did, kind, key, purposes, "")
}

// serviceOf reads a service. A body that was signed names it; an entry may leave the name to its type.
func (w *working) serviceOf(said object, did string, isBody bool) service {
	isNamed := has(said, "id")
	demand(isNamed || !isBody, "the service has no id")
	demand(isBody || members(said, "id") == "serviceEndpoint,type", "a service has other members")
	found := service{"", text(said["type"]), text(said["serviceEndpoint"])}
	if isNamed {
		found.id = did + "#" + named(text(said["id"]), did, isBody)
		return found
	}
	// As a service without an id is named: linkeddomains-1.
	plain := strings.Trim(notPlain.ReplaceAllString(strings.ToLower(found.kind), "-"), "-")
	plain = plain[:min(len(plain), 56)]
	if plain == "" {
		plain = "service"
	}
	for ordinal := 1; found.id == "" || w.servicePlace(found.id) != -1; ordinal++ {
		found.id = fmt.Sprintf("%s#%s-%d", did, plain, ordinal)
	}
	return found
}

func (w *working) servicePlace(id string) int {
	for place, one := range w.services {
		if one.id == id {
			return place
		}
	}
	return -1
}

// named is the fragment of a service's id; a body may contain the whole id.
func named(id, did string, isBody bool) string {
	if !isBody {
		return id
	}
	place := strings.LastIndex(id, "#")
	before := ""
	if place > 0 {
		before = id[:place]
	}
	isOwn := (before == "" || before == did) && (place != -1 || !strings.HasPrefix(id, "did:"))
	demand(isOwn, "the service is one of another DID")
	return id[place+1:]
}

func min(one, other int) int {
	if one < other {
		return one
	}
	return other
}
