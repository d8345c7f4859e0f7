"""Content of messages: sizes, payloads, keys and partitions."""

from streamgauge.scenario.model.content.payloads import KINDS as KINDS
from streamgauge.scenario.model.content.payloads import BodyKind as BodyKind
from streamgauge.scenario.model.content.payloads import Content as Content
from streamgauge.scenario.model.content.payloads import FromFile as FromFile
from streamgauge.scenario.model.content.payloads import Keys as Keys
from streamgauge.scenario.model.content.payloads import MadeKeys as MadeKeys
from streamgauge.scenario.model.content.payloads import MadePayload as MadePayload
from streamgauge.scenario.model.content.payloads import Partition as Partition
from streamgauge.scenario.model.content.payloads import PayloadKind as PayloadKind
from streamgauge.scenario.model.content.payloads import SingleContent as SingleContent
from streamgauge.scenario.model.content.payloads import SinglePayload as SinglePayload
from streamgauge.scenario.model.content.payloads import UserFunction as UserFunction
from streamgauge.scenario.model.content.payloads import content_faults as content_faults
from streamgauge.scenario.model.content.payloads import largest_bytes as largest_bytes
from streamgauge.scenario.model.content.payloads import mean_bytes as mean_bytes
from streamgauge.scenario.model.content.payloads import needs_headers as needs_headers
from streamgauge.scenario.model.content.sizes import GaussianSize as GaussianSize
from streamgauge.scenario.model.content.sizes import Sizes as Sizes
from streamgauge.scenario.model.content.sizes import extent_of as extent_of
from streamgauge.scenario.model.content.trogdor import SingleGenerator as SingleGenerator
from streamgauge.scenario.model.content.trogdor import TrogdorGenerator as TrogdorGenerator
