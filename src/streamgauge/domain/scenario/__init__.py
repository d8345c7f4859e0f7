"""What to do: the model of a scenario, its defaults, and every fault of a wrong one at once."""

from streamgauge.domain.scenario.advice import advice as advice
from streamgauge.domain.scenario.connections import Connections as Connections
from streamgauge.domain.scenario.consume import Consume as Consume
from streamgauge.domain.scenario.contradictions import OWNED_SETTINGS as OWNED_SETTINGS
from streamgauge.domain.scenario.load import Load as Load
from streamgauge.domain.scenario.model import Phases as Phases
from streamgauge.domain.scenario.model import Scenario as Scenario
from streamgauge.domain.scenario.model import Topic as Topic
from streamgauge.domain.scenario.parse import document as document
from streamgauge.domain.scenario.parse import examine as examine
from streamgauge.domain.scenario.parse import parse as parse
from streamgauge.domain.scenario.parse import shareable as shareable
from streamgauge.domain.scenario.values import SLOWEST as SLOWEST
from streamgauge.domain.scenario.values import Setting as Setting
from streamgauge.domain.scenario.volume import room_advice as room_advice
