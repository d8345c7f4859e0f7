"""How clients and brokers connect to the embedded cluster."""

from typing import Final, Literal, Self, get_args

from pydantic import Field, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import ScenarioPart

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["SCRAM-SHA-512", "PLAIN", "OAUTHBEARER-unsecured"]
PROTOCOLS: Final[tuple[str, ...]] = get_args(Protocol)
MECHANISMS: Final[tuple[str, ...]] = get_args(Mechanism)


class ClusterSecurity(ScenarioPart):
    """Encryption and authentication of the embedded cluster; certificates and users are made for the run."""

    protocol: Protocol = "PLAINTEXT"
    """Kafka's `security.protocol`, between clients and brokers and between brokers: `SSL` encrypts, `SASL_PLAINTEXT`
    authenticates, `SASL_SSL` does both."""
    mechanism: Mechanism | None = Field(default=None)
    """How SASL authenticates; by default `SCRAM-SHA-512`. Nobody signs the tokens of `OAUTHBEARER-unsecured`: they show
    what tokens cost and protect nothing."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.mechanism and not self.is_sasl:
            raise BadValue(f"{self.protocol} has no mechanism", "Leave mechanism out, or write protocol: SASL_SSL")
        return self

    @property
    def is_sasl(self) -> bool:
        """Whether clients log in."""
        return self.protocol.startswith("SASL")

    @property
    def used(self) -> Mechanism | None:
        """The mechanism that is used; None where nobody logs in."""
        return (self.mechanism or "SCRAM-SHA-512") if self.is_sasl else None
