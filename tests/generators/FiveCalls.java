// Five calls with the client that openapi-generator makes as java (native), as it is: java FiveCalls URL API_KEY.

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AuthApi;
import org.openapitools.client.api.DidsApi;
import org.openapitools.client.api.ServiceApi;
import org.openapitools.client.model.CreateDidRequest;
import org.openapitools.client.model.CreatedDid;
import org.openapitools.client.model.ServiceInput;
import org.openapitools.client.model.UpdateDidRequest;

public final class FiveCalls {
  private static final String ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  private static final String PKCS8_OF_ED25519 = "302e020100300506032b657004220420";

  static String signChallenge(String did, String secret, String challenge) throws Exception {
    BigInteger number = BigInteger.ZERO;
    for (char digit : secret.substring(1).toCharArray()) {
      number = number.multiply(BigInteger.valueOf(58)).add(BigInteger.valueOf(ALPHABET.indexOf(digit)));
    }
    String hex = number.toString(16);
    byte[] key = HexFormat.of().parseHex(PKCS8_OF_ED25519 + hex.substring(hex.length() - 64));
    Signature signature = Signature.getInstance("Ed25519");
    signature.initSign(KeyFactory.getInstance("Ed25519").generatePrivate(new PKCS8EncodedKeySpec(key)));
    signature.update(challenge.getBytes(StandardCharsets.UTF_8));
    String text = did + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(signature.sign());
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  static ApiClient connect(String url, String header, String text) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(url + "/api/v1");
    return client.setRequestInterceptor(request -> request.header(header, text));
  }

  public static void main(String[] arguments) throws Exception {
    String url = arguments[0];
    ApiClient operator = connect(url, "X-API-Key", arguments[1]);
    DidsApi dids = new DidsApi(operator);
    CreatedDid created = dids.createDid(new CreateDidRequest().method("ids").keyType("Ed25519"), null);
    String did = created.getDid();
    System.out.println("created " + did);
    boolean same = did.equals(dids.resolveDid(did, null, null, null).getDidDocument().getId());
    System.out.println("resolved " + (same ? "True" : "False"));
    String challenge = new AuthApi(operator).getDidAuthChallenge(did, null, null, null, null).getChallenge();
    String signed = signChallenge(did, created.getKeys().getAuthentication().getPrivateKey(), challenge);
    DidsApi holder = new DidsApi(connect(url, "Authorization", "DIDAuth " + signed));
    ServiceInput service = new ServiceInput().id("agent").type("AgentService");
    service.serviceEndpoint("https://agent.example/");
    UpdateDidRequest change = new UpdateDidRequest().operation("addService").service(service);
    System.out.println("updated " + holder.updateDid(did, change, null, null).getVersionId());
    System.out.println("history " + dids.listDidHistory(did, null, null, null, null).getItems().size());
    System.out.println("health " + new ServiceApi(operator).getHealth().getStatus());
  }
}
